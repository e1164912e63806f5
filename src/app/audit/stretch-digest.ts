import { hash } from 'node:crypto'
import {
  digestBetween,
  type RowDigest,
  type AuditedTable,
} from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { newUuid } from '../../kernel/ids.ts'
import { plain, type Expected } from './compare.ts'

/** Most rows read in one stretch of the log; a table filled by hand may have more. */
export const MAX_ROWS = 100_000

/** A stretch of the log: after one position up to another. */
export interface Stretch {
  readonly after: bigint
  readonly upTo: bigint
}

/** Random for this run: no existing row can contain them. */
const marks = { between: newUuid().slice(0, 8), null: newUuid().slice(0, 8) }

function cellOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return marks.null
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString()
  return JSON.stringify(value)
}

/** Keeps the order of events, and sorts the rows of one event by their key. */
function inOrder(rows: readonly Expected[], key: string): readonly Expected[] {
  const isBefore = (a: Expected, b: Expected): boolean => String(a[key]) < String(b[key])
  const isSorted = rows.every((row, at) => {
    const last = rows[at - 1]
    return last === undefined || last['position'] !== row['position'] || isBefore(last, row)
  })
  if (isSorted) return rows
  return [...rows].sort((a, b) => {
    const [at, other] = [BigInt(String(a['position'])), BigInt(String(b['position']))]
    if (at !== other) return at < other ? -1 : 1
    return isBefore(a, b) ? -1 : 1
  })
}

/** The query of a table: the columns that events set, in the order of a key. */
export interface Digested {
  readonly table: AuditedTable
  readonly key: string
  /** Columns that other events set. */
  readonly excluded?: readonly string[]
}

/** Digests of the rows of a stretch, by table. */
export type RowDigests = ReadonlyMap<AuditedTable, RowDigest>

function comparedColumns({ table, excluded = [] }: Digested): readonly string[] {
  return Object.keys(table.columns).filter((column) => !excluded.includes(column))
}

/** Queries the digests of these tables in a stretch, before the expected rows are known. */
export async function digestsOf(
  db: Queryable,
  tables: readonly Digested[],
  stretch: Stretch,
): Promise<RowDigests> {
  const range = { ...stretch, limit: MAX_ROWS }
  const digests = tables.map(async (of) => {
    const digest = { columns: comparedColumns(of), key: of.key, marks }
    return [of.table, await digestBetween(db, of.table, digest, range)] as const
  })
  return new Map(await allSettledOrThrow(digests))
}

/**
 * Whether the rows are exactly these, in every column that events set. If not, or if JSON was
 * written in another form than today, the caller compares the rows themselves.
 */
export function rowsMatch(of: Digested, expected: readonly Expected[], digest: RowDigest): boolean {
  if (digest.rows !== expected.length) return false
  if (digest.rows === 0) return true
  const rows = inOrder(expected, of.key)
  return comparedColumns(of).every((column, at) => {
    const cells = rows.map((row) => cellOf(row[column])).join(marks.between)
    return hash('sha256', plain(cells), 'hex') === digest.columns[at]
  })
}
