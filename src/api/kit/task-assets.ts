import type { TaskAssets } from '../../app/tasks/types.ts'
import type { AssetReference } from '../../domain/families/checks/media-reference.ts'

const ASSET_TYPES = { image: 'Image', video: 'Video', audio: 'Audio' } as const

/** The assets of a creation, named as one member of its body; undefined where it uses none. */
export function taskAssetsOf(
  references: readonly AssetReference[],
  param: string,
  { projectName, bodyWith }: Pick<TaskAssets, 'projectName' | 'bodyWith'>,
): TaskAssets | undefined {
  if (references.length === 0) return undefined
  const assets = references.map(({ assetId, kind }) => ({
    assetId,
    assetType: ASSET_TYPES[kind],
    param,
  }))
  return { assets, projectName, bodyWith }
}
