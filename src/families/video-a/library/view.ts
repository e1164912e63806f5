import type { Static } from 'typebox'
import type { AssetGroupView, AssetView } from '../../../app/assets/types.ts'
import type { AssetGroupSchema, AssetSchema } from './schemas.ts'

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
