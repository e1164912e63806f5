import {
  rowsBetween,
  rowsByKey,
  type AuditedRow,
} from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { differencesOf, rowDiffers, rowUnexplained, type Expected } from './compare.ts'
import type { Finding, Findings } from './findings.ts'
import {
  MAX_ROWS,
  rowsMatch,
  type Digested,
  type RowDigests,
  type Stretch,
} from './stretch-digest.ts'

/** Rows found at another position that are remembered, so that they are not reported twice. */
const MAX_RELOCATED = 10_000

/** A table whose rows each belong to one event and never change. */
export interface Appended extends Digested {
  /** The column that distinguishes the rows of one event. */
  readonly key: string
  /** Whether the key is unique in the table: a row is then found at any position. */
  readonly unique: boolean
  /** Name of a row in a finding. */
  readonly nameOf?: (row: Expected) => string
}

/** Rows paired with those that the log requires. */
interface Paired {
  readonly pairs: readonly (readonly [expected: Expected, row: AuditedRow])[]
  readonly missing: readonly Expected[]
  readonly unexplained: readonly AuditedRow[]
}

function keyOf({ key }: Appended, row: Expected): string {
  return `${String(row['position'])} ${String(row[key])}`
}

function placeOf(of: Appended, row: Expected): string {
  return `${of.table.name} ${keyOf(of, row)}`
}

/** The pairs without rows whose digest already agreed. */
export interface Matched extends Paired {
  /** Number of rows that agree with the log and were therefore not read. */
  readonly agreed: number
}

/** Name of a row in a finding. */
export function nameOf(of: Appended, row: Expected): string {
  return of.nameOf?.(row) ?? String(row[of.key])
}

/** Pairs unmatched rows with missing ones at the same position: their key differs. */
function pairLeftOver(missing: readonly Expected[], unexplained: readonly AuditedRow[]): Paired {
  const left = new Map<string, AuditedRow[]>()
  for (const row of unexplained) {
    const position = String(row['position'])
    left.set(position, [...(left.get(position) ?? []), row])
  }
  const pairs: [Expected, AuditedRow][] = []
  const stillMissing: Expected[] = []
  for (const expected of missing) {
    const row = left.get(String(expected['position']))?.shift()
    if (row) pairs.push([expected, row])
    else stillMissing.push(expected)
  }
  return { pairs, missing: stillMissing, unexplained: [...left.values()].flat() }
}

/** Pairs each row with the one that the log requires. */
function pairRows(
  of: Appended,
  expected: readonly Expected[],
  rows: readonly AuditedRow[],
): Paired {
  const left = new Map(rows.map((row) => [keyOf(of, row), row]))
  const pairs: [Expected, AuditedRow][] = []
  const missing: Expected[] = []
  for (const each of expected) {
    const key = keyOf(of, each)
    const row = left.get(key)
    left.delete(key)
    if (row) pairs.push([each, row])
    else missing.push(each)
  }
  if (missing.length === 0 && left.size === 0) return { pairs, missing, unexplained: [] }
  const rest = pairLeftOver(missing, [...left.values()])
  return { ...rest, pairs: [...pairs, ...rest.pairs] }
}

/** Source of the rows, and facts known of them before. */
export interface RowSource extends Stretch {
  readonly db: Queryable
  /** Digests of the rows, when they were queried. */
  readonly digests?: RowDigests | undefined
}

/**
 * Pairs the rows of a stretch with those that the log requires there. `relocated` remembers,
 * between stretches, rows at another position. `exact` are the expected rows in full, or undefined
 * when they cannot be known in advance.
 */
export async function matchStretch(
  { db, digests, ...stretch }: RowSource,
  of: Appended,
  expected: readonly Expected[],
  relocated: Set<string>,
  exact: readonly Expected[] | undefined,
): Promise<Matched> {
  const digest = relocated.size === 0 ? digests?.get(of.table) : undefined
  if (digest && exact && rowsMatch(of, exact, digest))
    return { agreed: expected.length, pairs: [], missing: [], unexplained: [] }
  const rows = await rowsBetween(db, of.table, { ...stretch, limit: MAX_ROWS })
  const inPlace =
    relocated.size === 0 ? rows : rows.filter((row) => !relocated.has(placeOf(of, row)))
  const matched = { ...pairRows(of, expected, inPlace), agreed: 0 }
  if (!of.unique || matched.missing.length === 0) return matched
  // A row with another position is not missing: it is found by its key and differs.
  const keys = matched.missing.map((row) => String(row[of.key]))
  const elsewhere = await rowsByKey(db, of.table, of.key, keys)
  const found = new Map(elsewhere.map((row) => [String(row[of.key]), row]))
  const pairs = [...matched.pairs]
  const missing = matched.missing.filter((each) => {
    const row = found.get(String(each[of.key]))
    if (row === undefined) return true
    pairs.push([each, row])
    if (relocated.size < MAX_RELOCATED) relocated.add(placeOf(of, row))
    return false
  })
  return { ...matched, pairs, missing }
}

/** Findings about existing rows: those that differ, and those that no event explains. */
export function judge(of: Appended, { pairs, unexplained }: Matched): readonly Finding[] {
  const table = of.table.name
  const differing = pairs.flatMap(([expected, row]) => {
    const differences = differencesOf(expected, row)
    if (differences.length === 0) return []
    const { position } = expected
    return [rowDiffers({ table, key: nameOf(of, expected), position }, differences)]
  })
  const others = unexplained.map((row) =>
    rowUnexplained({ table, key: nameOf(of, row), position: row['position'] }, row),
  )
  return [...differing, ...others]
}

/** Adds findings in the order of the log: the first may be the cause of the others. */
export function pushInOrder(findings: Findings, found: readonly Finding[]): void {
  const at = ({ position }: Finding): bigint => BigInt(position === '' ? 0 : position)
  findings.push(...[...found].sort((a, b) => Number(at(a) - at(b))))
}
