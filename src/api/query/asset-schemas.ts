import { Type } from 'typebox'
import { assetStates, groupStates } from '../../../projections/assets/query.ts'
import { assetGroupTypes, assetTypes } from '../../domain/asset/events.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { Cursor, Limit, Name } from './schemas.ts'
import { fileMembers } from '../kit/answers/lists.ts'

/** Shapes of the asset library's queries. */

/** Name given by a caller: any text. */
const Project = Type.String({ minLength: 1, maxLength: 128 })
const GroupType = Type.Enum([...assetGroupTypes], {
  description: '`AIGC`: the general library. `LivenessFace`: assets of a verified real person.',
})
const Region = Type.Enum(['domestic', 'overseas'])
const OrNull = Type.Union([Type.String(), Type.Null()])

const filters = {
  tenant_id: Type.Optional(Name),
  user_id: Type.Optional(Name),
  group_type: Type.Optional(GroupType),
  region: Type.Optional(Region),
  project_name: Type.Optional(Project),
  group_id: Type.Optional(Name),
  native_id: Type.Optional(Name),
  cursor: Cursor,
  limit: Limit,
  ...fileMembers,
}

export const AssetsQuerySchema = Type.Object({
  ...filters,
  state: Type.Optional(Type.Enum([...assetStates])),
  asset_id: Type.Optional(Name),
})
export const GroupsQuerySchema = Type.Object({
  ...filters,
  state: Type.Optional(Type.Enum([...groupStates])),
})

const kept = {
  created_at: Type.String(),
  updated_at: Type.String(),
  tenant_id: Type.String(),
  user_id: Type.String(),
  token_id: Type.String(),
  request_id: Type.String({ description: 'Id of the request that created it.' }),
  region: Region,
  project_name: Type.String(),
  group_type: GroupType,
}
/** Members that only operators see. */
const upstream = {
  channel_id: OrNull,
  native_id: OrNull,
}

export const AssetSchema = Type.Object(
  {
    asset_id: Type.String(),
    group_id: Type.String(),
    state: Type.Enum([...assetStates]),
    asset_type: Type.Enum([...assetTypes]),
    name: Type.String(),
    ...kept,
    error_code: OrNull,
    error_message: OrNull,
    ...upstream,
  },
  { named: 'Asset' },
)
export const GroupSchema = Type.Object(
  {
    group_id: Type.String(),
    state: Type.Enum([...groupStates]),
    name: Type.String(),
    description: Type.String(),
    ...kept,
    verification_id: OrNull,
    ...upstream,
  },
  { named: 'AssetGroup' },
)

export const AssetsAnswerSchema = successOf(
  Type.Object({ items: Type.Array(AssetSchema), next_cursor: OrNull }),
)
export const GroupsAnswerSchema = successOf(
  Type.Object({ items: Type.Array(GroupSchema), next_cursor: OrNull }),
)

export const AssetParamsSchema = Type.Object({
  id: Type.String({
    description:
      'Id of an asset or a group (the gateway’s or the provider’s), of a verification or of a request.',
  }),
})
