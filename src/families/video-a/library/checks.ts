import { given, MAX_MODEL_CHARACTERS } from '../../../api/kit/member-checks.ts'
import type { AssetStatus } from '../../../app/assets/types.ts'
import { isProjectName } from '../../../domain/asset/project-name.ts'
import { oneOf, refuse, text } from '../../../domain/families/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { isAssetGroupId, isAssetId } from '../../../kernel/ids.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { resolveVideoAModel, type VideoAModel, videoAModels } from '../rules/models.ts'

/** What the members of actions are bounded by, in what is documented as in what is checked. */

export const MAX_NAME_CHARACTERS = 64
export const MAX_DESCRIPTION_CHARACTERS = 300
export const MAX_PROJECT_NAME_CHARACTERS = 64

export const assetStatuses = [
  'Processing',
  'Active',
  'Failed',
] as const satisfies readonly AssetStatus[]

export const DEFAULT_PAGE_SIZE = 10
export const MAX_PAGE_SIZE = 100
/** How far a list reaches: the number of a page times its size. */
export const MAX_LISTED = 20_000
/** Of groups, or of states, that one filter names. */
export const MAX_FILTERED = 100

/** Checks of members of the bodies of actions: absent and null are both "not given". */

/** Longer texts are no id of anything. */
const MAX_ID_CHARACTERS = 128

/** Refuses a request that lacks a member. @throws DomainError `invalid_request` always */
export function lacking(param: string, said = 'is required'): never {
  throw new DomainError('invalid_request', `\`${param}\` ${said}`, { param, lacks: param })
}

/** @throws DomainError `invalid_request` when it is no text, empty or too long */
function filled(value: unknown, param: string, maxCharacters: number): string {
  const found = text(value, param, maxCharacters)
  return found === '' ? refuse(param, `\`${param}\` must not be empty`) : found
}

/** @throws DomainError `invalid_request` when it is missing, no text, empty or too long */
export function requiredText(
  body: JsonObject,
  name: string,
  maxCharacters: number,
  said?: string,
): string {
  const value = given(body, name)
  return value === undefined ? lacking(name, said) : filled(value, name, maxCharacters)
}

/** @throws DomainError `invalid_request` when it is there and no text or too long; it may be empty */
export function optionalText(
  body: JsonObject,
  name: string,
  maxCharacters: number,
  path = name,
): string | undefined {
  const value = given(body, name)
  return value === undefined ? undefined : text(value, path, maxCharacters)
}

/** @throws DomainError `invalid_request` when it is there and none of the choices */
export function optionalChoice<Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = given(body, name)
  return value === undefined ? undefined : choiceOf(value, choices, name)
}

/** @throws DomainError `invalid_request` when it is none of the choices */
export function choiceOf<Choice extends string>(
  value: unknown,
  choices: readonly Choice[],
  path: string,
): Choice {
  const choice = choices.find((one) => one === value)
  return choice ?? refuse(path, `\`${path}\` must be ${oneOf(choices)}`)
}

/** @throws DomainError `invalid_request` when it is there and no integer of the range */
export function integerOr(
  body: JsonObject,
  name: string,
  range: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  const value = given(body, name) ?? range.otherwise
  if (
    typeof value === 'number' &&
    Number.isSafeInteger(value) &&
    value >= range.min &&
    value <= range.max
  )
    return value
  return refuse(name, `\`${name}\` must be an integer from ${range.min} to ${range.max}`)
}

/**
 * The model that says where a thing is kept, by its external name or its alias.
 * @throws DomainError `invalid_request`, `unknown_model`
 */
export function optionalModel(body: JsonObject): VideoAModel | undefined {
  const value = given(body, 'model')
  if (value === undefined) return undefined
  const model = resolveVideoAModel(filled(value, 'model', MAX_MODEL_CHARACTERS))
  if (model !== undefined) return model
  const names = videoAModels.map(({ name }) => name).join(', ')
  throw new DomainError(
    'unknown_model',
    `\`model\` is not a model of this interface; use one of ${names}`,
    {},
  )
}

/** @throws DomainError `invalid_request`, `unknown_model` */
export function requiredModel(body: JsonObject): VideoAModel {
  return optionalModel(body) ?? lacking('model', 'is required: it says where things are kept')
}

/** @throws DomainError `invalid_request` */
export function projectName(body: JsonObject): string | undefined {
  const value = given(body, 'ProjectName')
  if (value === undefined) return undefined
  const name = text(value, 'ProjectName', MAX_PROJECT_NAME_CHARACTERS)
  if (isProjectName(name)) return name
  return refuse(
    'ProjectName',
    '`ProjectName` must be letters, digits, `_`, `-` and `.`, a letter or digit first',
  )
}

/** What `Id` is the id of. */
export type Kept = 'asset' | 'group'

const isIdOf = { asset: isAssetId, group: isAssetGroupId } as const
const notFound = { asset: 'asset_not_found', group: 'asset_group_not_found' } as const

/**
 * The id of a thing. Text that cannot be one is not looked up, and is of nothing.
 * @throws DomainError `invalid_request`, `asset_not_found`, `asset_group_not_found`
 */
export function idIn(body: JsonObject, kept: Kept, name: 'Id' | 'GroupId' = 'Id'): string {
  const id = requiredText(body, name, MAX_ID_CHARACTERS, 'is required, and spelt like this')
  if (isIdOf[kept](id)) return id
  throw new DomainError(notFound[kept], 'no such id', {})
}
