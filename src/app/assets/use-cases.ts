import { createChanges } from './change.ts'
import { createCreations } from './create.ts'
import type { AssetDeps } from './deps.ts'
import { createReads } from './read.ts'
import { createRemovals } from './remove.ts'
import type { AssetUseCases } from './types.ts'
import { createVerifications } from './verify.ts'

/** The use cases of the asset library. */
export function createAssetUseCases(
  deps: AssetDeps,
  findAssetTypes: AssetUseCases['findAssetTypes'],
): AssetUseCases {
  return {
    ...createCreations(deps),
    ...createReads(deps),
    ...createChanges(deps),
    ...createRemovals(deps),
    ...createVerifications(deps),
    findAssetTypes,
  }
}
