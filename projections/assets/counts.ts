import type { PoolClient } from 'pg'
import { plainColumn, storable, textColumn } from '../engine/columns.ts'
import type { assetColumns, AssetTextRow, groupColumns, GroupTextRow } from './columns.ts'
import type { RowChange } from './rows.ts'
import { shownGroupStates, statusOf } from './state.ts'

/** What a count is told by, in the order of its key. */
const keyColumns = [
  'tenant_id',
  'group_type',
  'user_id',
  'kind',
  'group_id',
  'region',
  'project_name',
  'status',
] as const
type CountKey = Readonly<Record<(typeof keyColumns)[number], string>>

/** What follows from the log alone: when a count that is as before was last touched depends on the batches. */
export const countsSql = `select ${keyColumns.join(', ')}, n from counts where n <> 0`

/** Whose list shows it: of a person's that of the user who had them verified, else that of the tenant. */
export function listOwner(groupType: string, userId: string): string {
  return groupType === 'LivenessFace' ? userId : ''
}

function keyOf(
  row: AssetTextRow | GroupTextRow,
  of: Pick<CountKey, 'kind' | 'group_id' | 'status'>,
): CountKey {
  return {
    ...of,
    tenant_id: storable(row.tenant_id),
    group_type: row.group_type,
    user_id: storable(listOwner(row.group_type, row.user_id)),
    region: row.region,
    project_name: storable(row.project_name),
  }
}

/** The counts that an asset is part of. */
function countsOfAsset(row: AssetTextRow | undefined): readonly CountKey[] {
  const status = row && statusOf(row.state)
  if (row === undefined || status === undefined) return []
  const groups = ['', storable(row.group_id)]
  return groups.map((group_id) => keyOf(row, { kind: 'asset', group_id, status }))
}

function countsOfGroup(row: GroupTextRow | undefined): readonly CountKey[] {
  const isShown = row !== undefined && shownGroupStates.some((state) => state === row.state)
  return isShown ? [keyOf(row, { kind: 'group', group_id: '', status: '' })] : []
}

/** Adds to the counts what a batch changed, and says of each that something it counts did change. */
export async function writeCounts(
  client: PoolClient,
  assets: readonly RowChange<typeof assetColumns>[],
  groups: readonly RowChange<typeof groupColumns>[],
): Promise<void> {
  const deltas = new Map<string, { readonly key: CountKey; n: bigint; position: bigint }>()
  const add = (keys: readonly CountKey[], n: bigint, position: bigint): void => {
    for (const key of keys) {
      const id = JSON.stringify(keyColumns.map((column) => key[column]))
      const delta = deltas.get(id) ?? { key, n: 0n, position }
      delta.n += n
      if (position > delta.position) delta.position = position
      deltas.set(id, delta)
    }
  }
  for (const { before, after } of assets) {
    add(countsOfAsset(before), -1n, BigInt(after.position))
    add(countsOfAsset(after), 1n, BigInt(after.position))
  }
  for (const { before, after } of groups) {
    add(countsOfGroup(before), -1n, BigInt(after.position))
    add(countsOfGroup(after), 1n, BigInt(after.position))
  }
  const changed = [...deltas.values()]
  if (changed.length === 0) return
  const given = keyColumns.length
  const arrays = keyColumns.map((_, n) => `$${n + 1}::text[]`)
  await client.query({
    name: 'assets.counts',
    text: `insert into counts (${keyColumns.join(', ')}, n, position)
           select * from unnest(${arrays.join(', ')}, $${given + 1}::bigint[], $${given + 2}::bigint[])
           on conflict (${keyColumns.join(', ')}) do update set
             n = counts.n + excluded.n, position = greatest(counts.position, excluded.position)`,
    values: [
      ...keyColumns.map((column) => textColumn(changed.map(({ key }) => key[column]))),
      plainColumn(changed.map(({ n }) => n)),
      plainColumn(changed.map(({ position }) => position)),
    ],
  })
}
