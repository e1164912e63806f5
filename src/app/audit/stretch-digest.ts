import { hash } from 'node:crypto'
import {
  digestBetween,
  type StandingDigest,
  type StandingTable,
} from '../../../projections/engine/standing.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { allOver } from '../../kernel/all-over.ts'
import { newUuid } from '../../kernel/ids.ts'
import { plain, type Expected } from './compare.ts'

/** Rows looked at in one stretch of the log; more stand for a table that was filled by hand. */
export const MAX_ROWS = 100_000

/** A stretch of the log: after one position up to another. */
export interface Stretch {
  readonly after: bigint
  readonly upTo: bigint
}

/** Of this run alone: no row can have been written with them. */
const marks = { between: newUuid().slice(0, 8), null: newUuid().slice(0, 8) }

function cellOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return marks.null
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString()
  return JSON.stringify(value)
}

/** Events come in order; the rows of one are put in the order of their key. */
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

/** What is asked of a table: the columns that events tell of, by the order of a key. */
export interface Digested {
  readonly table: StandingTable
  readonly key: string
  /** Columns that no event tells of. */
  readonly untold?: readonly string[]
}

/** Digests of what stands of a stretch, by table. */
export type StandingDigests = ReadonlyMap<StandingTable, StandingDigest>

function toldColumns({ table, untold = [] }: Digested): readonly string[] {
  return Object.keys(table.columns).filter((column) => !untold.includes(column))
}

/** Of these tables, in a stretch; to be asked for before it is known what the log says of it. */
export async function digestsOf(
  db: Queryable,
  tables: readonly Digested[],
  stretch: Stretch,
): Promise<StandingDigests> {
  const range = { ...stretch, limit: MAX_ROWS }
  const digests = tables.map(async (of) => {
    const digest = { columns: toldColumns(of), key: of.key, marks }
    return [of.table, await digestBetween(db, of.table, digest, range)] as const
  })
  return new Map(await allOver(digests))
}

/**
 * Whether what stands is exactly these rows, in every column that events tell of. Where not, or where
 * JSON was written in another way than today, the rows themselves tell.
 */
export function standExactly(
  of: Digested,
  expected: readonly Expected[],
  stands: StandingDigest,
): boolean {
  if (stands.rows !== expected.length) return false
  if (stands.rows === 0) return true
  const rows = inOrder(expected, of.key)
  return toldColumns(of).every((column, at) => {
    const cells = rows.map((row) => cellOf(row[column])).join(marks.between)
    return hash('sha256', plain(cells), 'hex') === stands.columns[at]
  })
}
