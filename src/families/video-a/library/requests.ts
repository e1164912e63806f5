import { type TObject, type TProperties, Type } from 'typebox'
import { RequestError } from '../../../api/kit/request-error.ts'
import { type AssetStatus, assetSorts } from '../../../app/assets/types.ts'
import { assetGroupTypes, assetTypes } from '../../../domain/asset/events.ts'
import { RefusedMember } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { modelName, projectName } from '../rules/body.ts'

/** The requests of the asset library: the action in the URL, and the body of each action. */

export const actionNames = [
  'CreateAssetGroup',
  'CreateAsset',
  'ListAssetGroups',
  'ListAssets',
  'GetAssetGroup',
  'GetAsset',
  'UpdateAsset',
  'UpdateAssetGroup',
  'DeleteAsset',
  'DeleteAssetGroup',
  'CreateVisualValidateSession',
  'GetVisualValidateResult',
] as const
export type ActionName = (typeof actionNames)[number]

/** The one version there is. */
export const VERSION = '2024-01-01'

const parameters: readonly string[] = ['Action', 'Version']
/** The longest text that a refusal repeats. */
const MAX_SHOWN_CHARACTERS = 64

/** The part of it that is known. */
export interface ActionRequest {
  readonly action: ActionName | undefined
  readonly version: typeof VERSION | undefined
}

/** Whether a URL is that of the library: `/provA/`, with or without its last slash. */
export function isLibraryUrl(url: string): boolean {
  return /^\/provA\/?(?:[?#]|$)/.test(url)
}

function actionOf(name: unknown): ActionName | undefined {
  return actionNames.find((known) => known === name)
}

/** The action and version in a URL, unchecked: for failures of unread requests. */
export function actionRequestOf(url: string): ActionRequest {
  const at = url.indexOf('?')
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1))
  return {
    action: actionOf(query.get('Action')),
    version: query.get('Version') === VERSION ? VERSION : undefined,
  }
}

/**
 * The action of a valid query.
 * @throws RequestError `parameter_invalid`; `route_not_found` for an unknown action
 * @throws DomainError `invalid_request` without an `Action`
 */
export function readAction(query: Readonly<Record<string, unknown>>): ActionName {
  const unknown = Object.keys(query).find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    const shown = unknown.slice(0, MAX_SHOWN_CHARACTERS)
    const message = `\`${shown}\` is not a query parameter of this route, which has ${parameters.join(', ')}`
    throw new RequestError('parameter_invalid', message, shown)
  }
  const { Action: given, Version: version } = query
  if (given === undefined || given === '')
    throw new DomainError('invalid_request', `\`Action\` is required: one of ${choices}`, {
      param: 'Action',
      keyword: 'required',
    })
  if (typeof given !== 'string')
    throw new RequestError('parameter_invalid', '`Action` must be given once', 'Action')
  const action = actionOf(given)
  if (action === undefined) {
    const shown = given.slice(0, MAX_SHOWN_CHARACTERS)
    throw new RequestError(
      'route_not_found',
      `There is no action ${shown}; use one of ${choices}`,
      'Action',
    )
  }
  if (version !== VERSION)
    throw new RequestError('parameter_invalid', `\`Version\` must be ${VERSION}`, 'Version')
  return action
}

const choices = actionNames.join(', ')

export const ActionQuerySchema = Type.Object({
  Action: Type.Enum([...actionNames]),
  Version: Type.Enum([VERSION]),
})

/** Bodies of actions: a member that is null is not given. */

const assetStatuses = ['Processing', 'Active', 'Failed'] as const satisfies readonly AssetStatus[]

export const DEFAULT_PAGE_SIZE = 10
/** Maximum reach of a list: the number of a page times its size. */
export const MAX_LISTED = 20_000
/** The most groups or states of one filter. */
const MAX_FILTERED = 100

export const NameSchema = Type.String({ maxLength: 64 })
export const DescriptionSchema = Type.String({ maxLength: 300 })
export const StatusSchema = Type.Enum([...assetStatuses])

const ProjectName = Type.Optional(
  projectName({ default: 'default', description: 'Must be the same throughout a workflow.' }),
)
const Model = modelName(': the asset is kept in its region', {
  required: 'is required: it decides the region in which assets are kept',
})
const where = { model: Model, ProjectName } as const
const perhapsWhere = { model: Type.Optional(Model), ProjectName } as const

const id = (words: Readonly<Record<string, string>> = {}) =>
  // No id is longer.
  Type.String({
    minLength: 1,
    maxLength: 128,
    words,
    description: '`asset-<ULID>` or `group-<ULID>`.',
  })
const Key = {
  ...perhapsWhere,
  Id: id({ required: 'is required; its name is case-sensitive' }),
} as const

const body = <Members extends TProperties>(
  title: string,
  members: Members,
  knownExtraFields = '',
  examples: readonly object[] = [],
) =>
  Type.Object(members, {
    additionalProperties: true,
    title,
    named: `${title}Request`,
    knownExtraFields,
    ...(examples.length > 0 && { examples }),
  })

/** A list in a filter: a fault in one of the texts is reported for the whole list. */
function texts<Text extends string>(items: object, fault: (text: string) => string | undefined) {
  const check = (all: readonly unknown[]): string | undefined => {
    const strings = all.filter((one) => typeof one === 'string')
    if (strings.length < all.length) return 'must be an array of strings'
    return strings.map(fault).find((one) => one !== undefined)
  }
  const list = { type: 'array', maxItems: MAX_FILTERED }
  return Type.Optional(
    Type.Unsafe<readonly Text[]>({ ...list, check, documented: { ...list, items } }),
  )
}

export const FilterSchema = Type.Object(
  {
    GroupType: Type.Enum([...assetGroupTypes]),
    GroupIds: texts<string>({ type: 'string' }, () => undefined),
    Statuses: texts<AssetStatus>({ enum: assetStatuses }, (text) =>
      assetStatuses.some((status) => status === text)
        ? undefined
        : `must be one of ${assetStatuses.join(', ')}`,
    ),
    Name: Type.Optional(Type.String({ maxLength: 64, description: 'Prefix of the name.' })),
  },
  {
    named: 'AssetFilter',
    additionalProperties: true,
    words: { required: 'is required, and must have a `GroupType`' },
  },
)

// Members of another way to page: a caller that used them would always get the first page.
const token = RefusedMember('is not accepted: use `PageNumber` and `PageSize`')

const listOf = (title: string) =>
  body(
    title,
    {
      ...perhapsWhere,
      Filter: FilterSchema,
      PageNumber: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_LISTED,
          default: 1,
          description: `\`PageNumber\` times \`PageSize\` may be at most ${MAX_LISTED}.`,
        }),
      ),
      PageSize: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, default: DEFAULT_PAGE_SIZE }),
      ),
      SortBy: Type.Optional(Type.Enum([...assetSorts], { default: 'CreateTime' })),
      SortOrder: Type.Optional(Type.Enum(['Asc', 'Desc'], { default: 'Desc' })),
      NextToken: token,
      MaxResults: token,
    },
    // Members that belong in the filter.
    Object.keys(FilterSchema.properties).join(' '),
  )

/** The only accepted value; another known value is refused with `words`. */
function onlyOne(value: string, other: string, words: string) {
  return Type.Unsafe<string>({
    check: (given: unknown) => {
      if (given === value) return undefined
      return given === other ? words : `must be ${value}`
    },
    documented: { enum: [value] },
  })
}

/** The body of each action. */
export const bodies = {
  CreateAssetGroup: body(
    'CreateAssetGroup',
    {
      ...where,
      Name: Type.Optional(NameSchema),
      // Callers cannot create groups of persons: verification creates them.
      GroupType: Type.Optional(
        onlyOne(
          'AIGC',
          'LivenessFace',
          'LivenessFace cannot be created: the group of a real person comes from a verification (CreateVisualValidateSession)',
        ),
      ),
      Description: Type.Optional(DescriptionSchema),
    },
    '',
    [{ model: 'domestic-video-2-0', Name: 'boats' }],
  ),
  CreateAsset: body(
    'CreateAsset',
    {
      ...where,
      GroupId: id({ required: 'is required; its name is case-sensitive' }),
      // The model is looked up by its name in the region.
      URL: Type.Optional(
        Type.Unsafe<unknown>({
          documented: {
            type: 'string',
            description: 'Public URL; overseas regions also accept the names `Url` and `url`.',
          },
        }),
      ),
      AssetType: Type.Enum([...assetTypes]),
      Name: Type.Optional(NameSchema),
      // Uploads are always moderated.
      Moderation: Type.Optional(
        Type.Object(
          {
            Strategy: Type.Optional(onlyOne('Default', 'Skip', 'must not be Skip')),
          },
          { additionalProperties: true },
        ),
      ),
    },
    'Url url',
  ),
  ListAssetGroups: listOf('ListAssetGroups'),
  ListAssets: listOf('ListAssets'),
  GetAssetGroup: body('GetAssetGroup', Key),
  GetAsset: body('GetAsset', Key),
  UpdateAsset: body('UpdateAsset', { ...Key, Name: NameSchema }),
  UpdateAssetGroup: body('UpdateAssetGroup', {
    ...Key,
    Name: Type.Optional(NameSchema),
    Description: Type.Optional(DescriptionSchema),
  }),
  DeleteAsset: body('DeleteAsset', Key),
  DeleteAssetGroup: body('DeleteAssetGroup', Key),
  CreateVisualValidateSession: body('CreateVisualValidateSession', {
    ...where,
    CallbackURL: Type.String({
      documented: {
        type: 'string',
        format: 'uri',
        description: '`https://` URL whose host is publicly routable.',
      },
    }),
  }),
  GetVisualValidateResult: body('GetVisualValidateResult', {
    ...where,
    ProviderToken: Type.String({
      minLength: 1,
      maxLength: 4_096,
      description: 'One-time token of the session.',
    }),
  }),
} as const satisfies Readonly<Record<ActionName, TObject>>
