import {
  rowsByKey,
  type AuditedRow,
  type StreamTable,
} from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'

type OwnedTable = Pick<StreamTable, 'table' | 'owner'>

/** The rows of owners, by owner, in the order of their tables. */
export type OwnerRows = readonly ReadonlyMap<string, readonly AuditedRow[]>[]

/** The rows of owners in each of these tables. */
export async function rowsOf(
  db: Queryable,
  tables: readonly OwnedTable[],
  owners: readonly string[],
): Promise<OwnerRows> {
  return allSettledOrThrow(
    tables.map(async ({ table, owner }) =>
      byColumn(await rowsByKey(db, table, owner, owners), owner),
    ),
  )
}

/** A table without the columns that do not say whose its rows are and when they changed. */
export function positionsOf({ table, owner }: OwnedTable): OwnedTable {
  const columns = Object.entries(table.columns).filter(
    ([column]) => column === owner || column === 'position',
  )
  return { table: { ...table, columns: Object.fromEntries(columns) }, owner }
}

/** The last position that a row of an owner has, of any table. */
export function lastPosition(owner: string, tables: OwnerRows): bigint | undefined {
  let last: bigint | undefined
  for (const rows of tables)
    for (const { position } of rows.get(owner) ?? []) {
      if (typeof position !== 'string') continue
      const at = BigInt(position)
      if (last === undefined || at > last) last = at
    }
  return last
}

function byColumn(
  rows: readonly AuditedRow[],
  column: string,
): ReadonlyMap<string, readonly AuditedRow[]> {
  const groups = new Map<string, AuditedRow[]>()
  for (const row of rows) {
    const group = groups.get(String(row[column]))
    if (group) group.push(row)
    else groups.set(String(row[column]), [row])
  }
  return groups
}
