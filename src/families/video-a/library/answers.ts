import { type Static, type TSchema, Type } from 'typebox'
import type { AssetGroupView, AssetView } from '../../../app/assets/types.ts'
import { assetGroupTypes, assetTypes } from '../../../domain/asset/events.ts'
import { DescriptionSchema, NameSchema, StatusSchema } from './requests.ts'

/** Content of `Result`, by the action. */

const Id = Type.String({ description: '`asset-<ULID>` or `group-<ULID>`.' })
const Time = Type.String({ format: 'date-time' })

const AssetSchema = Type.Object(
  {
    Id,
    Name: NameSchema,
    AssetType: Type.Enum([...assetTypes]),
    GroupId: Type.String(),
    Status: StatusSchema,
    ProjectName: Type.String(),
    CreateTime: Time,
    UpdateTime: Time,
    URL: Type.Optional(
      Type.String({
        description:
          'Only from GetAsset, where the URL is known: it expires soon; do not store it.',
      }),
    ),
    Error: Type.Optional(
      Type.Object(
        { Code: Type.String(), Message: Type.String() },
        { named: 'AssetError', description: 'Only of a failed asset.' },
      ),
    ),
  },
  { title: 'GetAsset', named: 'LibraryAsset' },
)

const AssetGroupSchema = Type.Object(
  {
    Id,
    Name: NameSchema,
    Description: DescriptionSchema,
    GroupType: Type.Enum([...assetGroupTypes]),
    ProjectName: Type.String(),
    CreateTime: Time,
    UpdateTime: Time,
  },
  { title: 'GetAssetGroup', named: 'LibraryAssetGroup' },
)

function pageOf(items: TSchema, title: string): TSchema {
  return Type.Object(
    {
      Items: Type.Array(items),
      TotalCount: Type.Integer(),
      PageNumber: Type.Integer(),
      PageSize: Type.Integer(),
    },
    { title, named: `${title}Result` },
  )
}

/** Content of `Result`. */
export const ResultSchema = Type.Union([
  Type.Object({ Id }, { title: 'Create* and Update*', named: 'AssetId' }),
  AssetSchema,
  AssetGroupSchema,
  pageOf(AssetSchema, 'ListAssets'),
  pageOf(AssetGroupSchema, 'ListAssetGroups'),
  Type.Object({}, { title: 'Delete*' }),
  Type.Object(
    { ProviderToken: Type.String(), H5Link: Type.String(), CallbackURL: Type.String() },
    { title: 'CreateVisualValidateSession', named: 'ValidationSession' },
  ),
  Type.Object(
    { GroupId: Type.String({ description: 'Empty until the person is verified.' }) },
    { title: 'GetVisualValidateResult', named: 'ValidationResult' },
  ),
])

function timesOf({ createdAtMs, updatedAtMs }: Pick<AssetView, 'createdAtMs' | 'updatedAtMs'>) {
  return {
    CreateTime: new Date(createdAtMs).toISOString(),
    UpdateTime: new Date(updatedAtMs).toISOString(),
  }
}

/** An asset for callers, alone and in a list. */
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

/** A group for callers, alone and in a list. */
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
