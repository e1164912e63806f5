import { ownAsset, type RecordedAsset } from '../../domain/asset/decider.ts'
import { ownGroup, type RecordedGroup } from '../../domain/asset-group/decider.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { AssetDeps } from './deps.ts'
import { requireRegion } from './library.ts'
import { readAsset, readGroup } from './streams.ts'
import type { ObjectRequest } from './types.ts'

/**
 * Finds the caller's own objects by id. A missing object is refused before any other fault, so that
 * another tenant's reads exactly like a missing one (P8).
 */

/** @throws DomainError `asset_not_found`, `asset_region_mismatch` */
export async function findOwnAsset(
  deps: Pick<AssetDeps, 'log' | 'catalog'>,
  key: ObjectRequest,
): Promise<RecordedAsset> {
  const state = ownAsset(await readAsset(deps.log, key.id), key.principal)
  const { projectName, region } = state.asset
  if (key.projectName !== undefined && key.projectName !== projectName)
    throw new DomainError('asset_not_found', 'the asset does not exist', {})
  requireRegion(deps, key, region)
  return state
}

/** @throws DomainError `asset_group_not_found`, `asset_region_mismatch` */
export async function findOwnGroup(
  deps: Pick<AssetDeps, 'log' | 'catalog'>,
  key: ObjectRequest,
): Promise<RecordedGroup> {
  const state = ownGroup(await readGroup(deps.log, key.id), key.principal)
  const { projectName, region } = state.group
  if (key.projectName !== undefined && key.projectName !== projectName)
    throw new DomainError('asset_group_not_found', 'the asset group does not exist', {})
  requireRegion(deps, key, region)
  return state
}
