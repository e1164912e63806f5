import type { PoolClient } from 'pg'
import { storable } from '../engine/array-literals.ts'
import type { Row } from '../engine/column.ts'
import type { RowChange } from '../engine/read-model.ts'
import { shownGroupStates, statusOf } from './state.ts'
import { assetCounts, type assets, type groups } from './tables.ts'

type AssetColumns = typeof assets.record.columns
type GroupColumns = typeof groups.record.columns
type Count = Row<typeof assetCounts.record.columns>
/** The key of a count. */
type CountKey = Omit<Count, 'n' | 'position'>

/**
 * The owner of the list that shows an asset: for assets of a person the user who had the person
 * verified, otherwise the tenant.
 */
export function listOwner(groupType: string, userId: string): string {
  return groupType === 'LivenessFace' ? userId : ''
}

function keyOf(
  { tenantId, groupType, userId, region, projectName }: Row<AssetColumns> | Row<GroupColumns>,
  kind: CountKey['kind'],
  groupId: string,
  status: string,
): CountKey {
  return {
    tenantId: storable(tenantId),
    groupType,
    userId: storable(listOwner(groupType, userId)),
    kind,
    groupId,
    region,
    projectName: storable(projectName),
    status,
  }
}

/** The counts that an asset is part of. */
function countsOfAsset(row: Row<AssetColumns> | undefined): readonly CountKey[] {
  const status = row && statusOf(row.state)
  if (row === undefined || status === undefined) return []
  return ['', storable(row.groupId)].map((groupId) => keyOf(row, 'asset', groupId, status))
}

function countsOfGroup(row: Row<GroupColumns> | undefined): readonly CountKey[] {
  const isShown = row !== undefined && shownGroupStates.some((state) => state === row.state)
  return isShown ? [keyOf(row, 'group', '', '')] : []
}

/**
 * Updates the counts by the changes of a batch, and moves the position of each count whose rows
 * changed.
 */
export async function writeAssetCounts(
  client: PoolClient,
  ofAssets: readonly RowChange<AssetColumns>[],
  ofGroups: readonly RowChange<GroupColumns>[],
): Promise<void> {
  const deltas = new Map<string, Count>()
  const add = (keys: readonly CountKey[], n: bigint, position: bigint): void => {
    for (const key of keys) {
      const id = JSON.stringify(key)
      const known = deltas.get(id)
      const last = known !== undefined && known.position > position ? known.position : position
      deltas.set(id, { ...key, n: (known?.n ?? 0n) + n, position: last })
    }
  }
  for (const { before, after } of ofAssets) {
    add(countsOfAsset(before), -1n, after.position)
    add(countsOfAsset(after), 1n, after.position)
  }
  for (const { before, after } of ofGroups) {
    add(countsOfGroup(before), -1n, after.position)
    add(countsOfGroup(after), 1n, after.position)
  }
  await assetCounts.upsert(client, [...deltas.values()])
}
