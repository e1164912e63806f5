import type { Static } from 'typebox'
import { given, optionalObject } from '../../../api/kit/member-checks.ts'
import { publicUrl } from '../../../api/kit/public-url.ts'
import type {
  Asking,
  AssetGroupView,
  AssetUseCases,
  AssetView,
  Naming,
  Placing,
} from '../../../app/assets/types.ts'
import type { Channel } from '../../../app/ports.ts'
import { assetTypes } from '../../../domain/asset/events.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import {
  choiceOf,
  idIn,
  type Kept,
  lacking,
  MAX_DESCRIPTION_CHARACTERS,
  MAX_NAME_CHARACTERS,
  optionalModel,
  optionalText,
  projectName,
  requiredModel,
  requiredText,
} from './checks.ts'
import type { AssetGroupSchema, AssetSchema } from './schemas.ts'

/** What an action is run with. */
export interface Call {
  readonly asking: Asking
  readonly body: JsonObject
  /** To be told where what the request speaks of is kept, as soon as it is known. */
  readonly noteRegion: (region: Channel['region']) => void
}

interface ActionDeps {
  readonly assets: AssetUseCases
  readonly resolveHost: ResolveHost
}

/** Reads the body, asks the use case, and gives what stands in `Result`. */
export type RunAction = (call: Call, deps: ActionDeps) => Promise<object>

/** Where something is to be kept. @throws DomainError `invalid_request`, `unknown_model` */
function placingOf({ asking, body, noteRegion }: Call): {
  readonly placing: Placing
  readonly region: Channel['region']
} {
  const { name: model, region } = requiredModel(body)
  noteRegion(region)
  return { placing: { ...asking, model, projectName: projectName(body) }, region }
}

/** What one may name something by that is kept. @throws DomainError `invalid_request`, `unknown_model` */
export function scopeOf({ asking, body, noteRegion }: Call): Omit<Naming, 'id'> {
  const model = optionalModel(body)
  if (model !== undefined) noteRegion(model.region)
  return { ...asking, model: model?.name, projectName: projectName(body) }
}

/**
 * One thing by its id.
 * @throws DomainError `invalid_request`, `unknown_model`, `asset_not_found`, `asset_group_not_found`
 */
function namingOf(call: Call, kept: Kept): Naming {
  const scope = scopeOf(call)
  return { ...scope, id: idIn(call.body, kept) }
}

function timesOf({ createdAtMs, updatedAtMs }: Pick<AssetView, 'createdAtMs' | 'updatedAtMs'>) {
  return {
    CreateTime: new Date(createdAtMs).toISOString(),
    UpdateTime: new Date(updatedAtMs).toISOString(),
  }
}

/** An asset as it is shown: by itself and in a list. */
export function toAsset(view: AssetView): Static<typeof AssetSchema> {
  const { error, url } = view
  return {
    Id: view.assetId,
    Name: view.name,
    AssetType: view.assetType,
    GroupId: view.groupId,
    Status: view.status,
    ProjectName: view.projectName,
    ...timesOf(view),
    ...(url === undefined ? {} : { URL: url }),
    ...(view.status === 'Failed' && error !== undefined
      ? { Error: { Code: error.code, Message: error.message } }
      : {}),
  }
}

/** A group as it is shown: by itself and in a list. */
export function toAssetGroup(view: AssetGroupView): Static<typeof AssetGroupSchema> {
  return {
    Id: view.groupId,
    Name: view.name,
    Description: view.description,
    GroupType: view.groupType,
    ProjectName: view.projectName,
    ...timesOf(view),
  }
}

/** Actions on one asset or one group. */

function nameIn(body: JsonObject): string | undefined {
  return optionalText(body, 'Name', MAX_NAME_CHARACTERS)
}

function descriptionIn(body: JsonObject): string | undefined {
  return optionalText(body, 'Description', MAX_DESCRIPTION_CHARACTERS)
}

/** Groups of persons are never ordered: they come to be when somebody is verified. */
function checkGroupType(body: JsonObject): void {
  const type = given(body, 'GroupType')
  if (type === undefined || type === 'AIGC') return
  refuse(
    'GroupType',
    type === 'LivenessFace'
      ? '`GroupType` LivenessFace cannot be created: the group of a real person comes from a verification (CreateVisualValidateSession)'
      : '`GroupType` must be AIGC',
  )
}

export const createAssetGroup: RunAction = async (call, { assets }) => {
  const { placing } = placingOf(call)
  checkGroupType(call.body)
  const { groupId } = await assets.createGroup({
    ...placing,
    name: nameIn(call.body) ?? '',
    description: descriptionIn(call.body) ?? '',
  })
  return { Id: groupId }
}

/** What is uploaded is always moderated. */
function checkModeration(body: JsonObject): void {
  const moderation = optionalObject(body, 'Moderation')
  const strategy = moderation && given(moderation, 'Strategy')
  if (strategy === undefined || strategy === 'Default') return
  const param = 'Moderation.Strategy'
  refuse(
    param,
    strategy === 'Skip' ? `\`${param}\` Skip is not available` : `\`${param}\` must be Default`,
  )
}

/** How the address may be written: overseas in two ways more. */
const spellings = { domestic: ['URL'], overseas: ['URL', 'Url', 'url'] } as const

async function urlIn(
  body: JsonObject,
  region: keyof typeof spellings,
  resolveHost: ResolveHost,
): Promise<string> {
  const [name, other] = spellings[region].filter((one) => given(body, one) !== undefined)
  if (name === undefined)
    return lacking('URL', region === 'domestic' ? 'is required, and spelt like this' : undefined)
  if (other !== undefined) return refuse(other, `\`${other}\` says what \`${name}\` says: send one`)
  const value = given(body, name)
  if (typeof value !== 'string') return refuse(name, `\`${name}\` must be a string`)
  if (!/^\s*https?:/i.test(value))
    return refuse(
      name,
      `\`${name}\` must be a public https:// or http:// URL; neither Base64 nor a data: URI is taken`,
    )
  return publicUrl(value, name, resolveHost, 'fetch')
}

export const createAsset: RunAction = async (call, { assets, resolveHost }) => {
  const { body } = call
  const { placing, region } = placingOf(call)
  const groupId = idIn(body, 'group', 'GroupId')
  const type = given(body, 'AssetType') ?? lacking('AssetType')
  const assetType = choiceOf(type, assetTypes, 'AssetType')
  const name = nameIn(body) ?? ''
  checkModeration(body)
  const url = await urlIn(body, region, resolveHost)
  const { assetId } = await assets.createAsset({ ...placing, groupId, url, assetType, name })
  return { Id: assetId }
}

export const getAsset: RunAction = async (call, { assets }) => {
  const view = await assets.getAsset(namingOf(call, 'asset'))
  call.noteRegion(view.region)
  return toAsset(view)
}

export const getAssetGroup: RunAction = async (call, { assets }) => {
  const view = await assets.getGroup(namingOf(call, 'group'))
  call.noteRegion(view.region)
  return toAssetGroup(view)
}

export const updateAsset: RunAction = async (call, { assets }) => {
  const naming = namingOf(call, 'asset')
  await assets.updateAsset({ ...naming, name: nameIn(call.body) ?? lacking('Name') })
  return { Id: naming.id }
}

export const updateAssetGroup: RunAction = async (call, { assets }) => {
  const naming = namingOf(call, 'group')
  const name = nameIn(call.body)
  const description = descriptionIn(call.body)
  if (name === undefined && description === undefined)
    return lacking('Name', 'or `Description` is required')
  await assets.updateGroup({ ...naming, name, description })
  return { Id: naming.id }
}

export const deleteAsset: RunAction = async (call, { assets }) => {
  await assets.deleteAsset(namingOf(call, 'asset'))
  return {}
}

export const deleteAssetGroup: RunAction = async (call, { assets }) => {
  await assets.deleteGroup(namingOf(call, 'group'))
  return {}
}

/** Verification of real persons. What these actions speak of is never kept and never logged. */

/** Of a one-time credential. */
const MAX_CREDENTIAL_CHARACTERS = 4_096

export const createVisualValidateSession: RunAction = async (call, { assets, resolveHost }) => {
  const { placing } = placingOf(call)
  const address = given(call.body, 'CallbackURL') ?? lacking('CallbackURL')
  if (typeof address !== 'string') return refuse('CallbackURL', '`CallbackURL` must be a string')
  const callbackUrl = await publicUrl(address, 'CallbackURL', resolveHost)
  const { credential, link } = await assets.startVerification({ ...placing, callbackUrl })
  return { ProviderToken: credential, H5Link: link, CallbackURL: callbackUrl }
}

export const getVisualValidateResult: RunAction = async (call, { assets }) => {
  const { placing } = placingOf(call)
  const credential = requiredText(call.body, 'ProviderToken', MAX_CREDENTIAL_CHARACTERS)
  const { groupId } = await assets.verificationResult({ ...placing, credential })
  // Empty while the person is not verified yet.
  return { GroupId: groupId ?? '' }
}
