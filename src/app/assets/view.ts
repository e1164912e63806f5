import type { RecordedAsset } from '../../domain/asset/decider.ts'
import type { RecordedGroup } from '../../domain/asset-group/decider.ts'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import type { AssetGroupView, AssetStatus, AssetView } from './types.ts'

/** The error of an asset that is being deleted. */
const WITHDRAWN = { code: 'AssetWithdrawn', message: 'The asset is being deleted.' }

/** The phases by their API names. */
export function statusOf(phase: RecordedAsset['phase']): AssetStatus {
  switch (phase) {
    case 'created':
    case 'processing':
      return 'Processing'
    case 'active':
      return 'Active'
    case 'failed':
    case 'refused':
    case 'withdrawn':
    case 'deleted':
      return 'Failed'
    default:
      return unreachable(phase)
  }
}

/** Why an asset is permanently unusable. */
export function faultOf({
  phase,
  error,
}: Pick<RecordedAsset, 'phase' | 'error'>): AssetView['error'] {
  return phase === 'withdrawn' ? WITHDRAWN : error
}

/** An asset by its events, with a fresh `url`. */
export function assetViewOf(state: RecordedAsset, url: string | undefined): AssetView {
  const { assetId, groupId, groupType, assetType, region, projectName, createdAt } = state.asset
  return {
    assetId,
    groupId,
    groupType,
    assetType,
    region,
    projectName,
    name: state.name,
    status: statusOf(state.phase),
    error: faultOf(state),
    url,
    createdAtMs: fromTimestamp(createdAt),
    updatedAtMs: fromTimestamp(state.updatedAt),
  }
}

export function groupViewOf({
  group,
  name,
  description,
  updatedAt,
}: RecordedGroup): AssetGroupView {
  const { groupId, groupType, region, projectName, createdAt } = group
  return {
    groupId,
    groupType,
    region,
    projectName,
    name,
    description,
    createdAtMs: fromTimestamp(createdAt),
    updatedAtMs: fromTimestamp(updatedAt),
  }
}
