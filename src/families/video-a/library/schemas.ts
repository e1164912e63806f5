import { Type, type TSchema } from 'typebox'
import { assetSorts } from '../../../app/assets/types.ts'
import { assetGroupTypes, assetTypes } from '../../../domain/asset/events.ts'
import type { AlsoKnown } from '../../../api/kit/foreign-members.ts'
import { type ActionName, actionNames, VERSION } from './asked.ts'
import {
  assetStatuses,
  DEFAULT_PAGE_SIZE,
  MAX_DESCRIPTION_CHARACTERS,
  MAX_FILTERED,
  MAX_LISTED,
  MAX_NAME_CHARACTERS,
  MAX_PAGE_SIZE,
  MAX_PROJECT_NAME_CHARACTERS,
} from './checks.ts'

/** Shapes of the asset library, for the documentation: what is taken the readers of the actions say. */

export const ActionQuerySchema = Type.Object({
  Action: Type.Enum([...actionNames]),
  Version: Type.Enum([VERSION]),
})

const Model = Type.String({
  description: 'External model name or its version alias: its region is where the thing is kept.',
})
const ProjectName = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: MAX_PROJECT_NAME_CHARACTERS,
    default: 'default',
    description: 'The same throughout a workflow.',
  }),
)
const Name = Type.String({ maxLength: MAX_NAME_CHARACTERS })
const Description = Type.String({ maxLength: MAX_DESCRIPTION_CHARACTERS })
const Id = Type.String({ description: '`asset-<ULID>` or `group-<ULID>`.' })
const Time = Type.String({ format: 'date-time' })
const Paging = {
  PageNumber: Type.Optional(
    Type.Integer({ minimum: 1, default: 1, description: `Times the size at most ${MAX_LISTED}.` }),
  ),
  PageSize: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE }),
  ),
} as const
const where = { model: Model, ProjectName } as const
const perhapsWhere = { model: Type.Optional(Model), ProjectName } as const
const open = { additionalProperties: true } as const

const Key = { ...perhapsWhere, Id } as const

function listOf(title: string, filter: Readonly<Record<string, TSchema>>): TSchema {
  return Type.Object(
    {
      ...perhapsWhere,
      Filter: Type.Object({
        GroupType: Type.Enum([...assetGroupTypes]),
        GroupIds: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_FILTERED })),
        ...filter,
        Name: Type.Optional(
          Type.String({
            maxLength: MAX_NAME_CHARACTERS,
            description: 'What the name begins with.',
          }),
        ),
      }),
      ...Paging,
      SortBy: Type.Optional(Type.Enum([...assetSorts], { default: 'CreateTime' })),
      SortOrder: Type.Optional(Type.Enum(['Asc', 'Desc'], { default: 'Desc' })),
    },
    { ...open, title },
  )
}

const Statuses = Type.Optional(
  Type.Array(Type.Enum([...assetStatuses]), { maxItems: MAX_FILTERED }),
)

const ofAsset = Type.Object({ ...Key, Name }, { ...open, title: 'UpdateAsset' })

/** What each action takes. */
export const bodySchemas: Readonly<Record<ActionName, TSchema>> = {
  CreateAssetGroup: Type.Object(
    {
      ...where,
      Name: Type.Optional(Name),
      GroupType: Type.Optional(Type.Enum(['AIGC'])),
      Description: Type.Optional(Description),
    },
    { ...open, title: 'CreateAssetGroup' },
  ),
  CreateAsset: Type.Object(
    {
      ...where,
      GroupId: Type.String(),
      URL: Type.String({ description: 'Public; overseas also `Url` or `url`.' }),
      AssetType: Type.Enum([...assetTypes]),
      Name: Type.Optional(Name),
      Moderation: Type.Optional(
        Type.Object({ Strategy: Type.Optional(Type.Enum(['Default'])) }, open),
      ),
    },
    { ...open, title: 'CreateAsset' },
  ),
  ListAssetGroups: listOf('ListAssetGroups', { Statuses }),
  ListAssets: listOf('ListAssets', { Statuses }),
  GetAssetGroup: Type.Object(Key, { ...open, title: 'GetAssetGroup' }),
  GetAsset: Type.Object(Key, { ...open, title: 'GetAsset' }),
  UpdateAsset: ofAsset,
  UpdateAssetGroup: Type.Object(
    { ...Key, Name: Type.Optional(Name), Description: Type.Optional(Description) },
    { ...open, title: 'UpdateAssetGroup' },
  ),
  DeleteAsset: Type.Object(Key, { ...open, title: 'DeleteAsset' }),
  DeleteAssetGroup: Type.Object(Key, { ...open, title: 'DeleteAssetGroup' }),
  CreateVisualValidateSession: Type.Object(
    {
      ...where,
      CallbackURL: Type.String({ description: '`https://`, its host publicly routable.' }),
    },
    { ...open, title: 'CreateVisualValidateSession' },
  ),
  GetVisualValidateResult: Type.Object(
    { ...where, ProviderToken: Type.String({ description: 'Of the session; one-time.' }) },
    { ...open, title: 'GetVisualValidateResult' },
  ),
}

/** Names that are looked at and that the schemas do not describe: other spellings, and what is refused. */
const alsoInLists: AlsoKnown = { '': 'NextToken MaxResults GroupType GroupIds Statuses Name' }
export const alsoInActions: Readonly<Partial<Record<ActionName, AlsoKnown>>> = {
  CreateAsset: { '': 'Url url' },
  ListAssetGroups: alsoInLists,
  ListAssets: alsoInLists,
}

/** Of any action, for the documentation: which it is the query says. */
export const ActionBodySchema = Type.Union(actionNames.map((name) => bodySchemas[name]))

export const AssetSchema = Type.Object(
  {
    Id,
    Name,
    AssetType: Type.Enum([...assetTypes]),
    GroupId: Type.String(),
    Status: Type.Enum([...assetStatuses]),
    ProjectName: Type.String(),
    CreateTime: Time,
    UpdateTime: Time,
    URL: Type.Optional(
      Type.String({ description: 'Of GetAsset, where it is known: short-lived, not to be kept.' }),
    ),
    Error: Type.Optional(
      Type.Object(
        { Code: Type.String(), Message: Type.String() },
        { description: 'Of one that failed.' },
      ),
    ),
  },
  { title: 'GetAsset' },
)

export const AssetGroupSchema = Type.Object(
  {
    Id,
    Name,
    Description,
    GroupType: Type.Enum([...assetGroupTypes]),
    ProjectName: Type.String(),
    CreateTime: Time,
    UpdateTime: Time,
  },
  { title: 'GetAssetGroup' },
)

function pageOf(items: TSchema, title: string): TSchema {
  return Type.Object(
    {
      Items: Type.Array(items),
      TotalCount: Type.Integer(),
      PageNumber: Type.Integer(),
      PageSize: Type.Integer(),
    },
    { title },
  )
}

/** What stands in `Result`. */
export const ResultSchema = Type.Union([
  Type.Object({ Id }, { title: 'Create* and Update*' }),
  AssetSchema,
  AssetGroupSchema,
  pageOf(AssetSchema, 'ListAssets'),
  pageOf(AssetGroupSchema, 'ListAssetGroups'),
  Type.Object({}, { title: 'Delete*' }),
  Type.Object(
    { ProviderToken: Type.String(), H5Link: Type.String(), CallbackURL: Type.String() },
    { title: 'CreateVisualValidateSession' },
  ),
  Type.Object(
    { GroupId: Type.String({ description: 'Empty while the person is not verified yet.' }) },
    { title: 'GetVisualValidateResult' },
  ),
])
