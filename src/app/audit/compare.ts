import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import { isJsonObject } from '../../kernel/json.ts'
import { formatAmount } from '../../kernel/money.ts'
import { isStorable, toStorable } from '../../kernel/storable-text.ts'
import type { Difference, Finding } from './findings.ts'

/** A row as the log requires it; JSON columns are compared member by member. */
export type Expected = Readonly<Record<string, unknown>>

/** Longest value in a finding, and the most values in one. */
const MAX_VALUE_LENGTH = 200
const MAX_DIFFERENCES = 12

/** Text as Postgres can store it: NUL and halves of surrogate pairs become U+FFFD. */
export function plain(text: string): string {
  return isStorable(text) ? text : toStorable(text, text.length)
}

function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
}

function scalar(value: unknown): unknown {
  if (typeof value === 'string') return plain(value)
  if (value === undefined) return null
  return value
}

/** Paths at which a JSON value differs from the log. */
function jsonDifferences(path: string, log: unknown, stands: unknown, found: Difference[]): void {
  if (log === stands) return
  if (isJsonObject(log) && isJsonObject(stands)) memberDifferences(path, log, stands, found)
  else if (Array.isArray(log) && Array.isArray(stands)) {
    for (let n = 0; n < Math.max(log.length, stands.length); n += 1)
      jsonDifferences(`${path}[${n}]`, log[n], stands[n], found)
  } else if (!Object.is(scalar(log), scalar(stands))) {
    found.push({ field: path, log: shown(log), stands: shown(stands) })
  }
}

function memberDifferences(
  path: string,
  log: Readonly<Record<string, unknown>>,
  stands: Readonly<Record<string, unknown>>,
  found: Difference[],
): void {
  const before = found.length
  const names = Object.keys(log)
  for (const name of names)
    jsonDifferences(`${path}.${name}`, log[name], stands[plain(name)], found)
  const others = Object.keys(stands)
  if (others.length === names.length && found.length === before) return
  const known = new Set(names.map(plain))
  for (const name of others)
    if (!known.has(name)) jsonDifferences(`${path}.${name}`, undefined, stands[name], found)
}

/** A cell of a column that is read as text. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return plain(value)
  const written =
    typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
  return written ? value.toString() : null
}

/** The columns in which a row differs from the log. */
export function differencesOf(expected: Expected, row: AuditedRow): readonly Difference[] {
  const found: Difference[] = []
  for (const column of Object.keys(expected)) {
    const log = expected[column]
    const stands = row[column] ?? null
    if (log === stands) continue
    if (typeof stands === 'object' && stands !== null)
      jsonDifferences(column, log ?? null, stands, found)
    else if (typeof log === 'object' && log !== null)
      found.push({ field: column, log: shown(log), stands: shown(stands) })
    else {
      const text = textOf(log)
      if (text !== stands) found.push({ field: column, log: shown(text), stands: shown(stands) })
    }
  }
  return found.slice(0, MAX_DIFFERENCES)
}

/** Sums that differ from the log's, in pico where a field is an amount. */
export function sumDifferences(
  fields: readonly string[],
  log: readonly bigint[],
  stands: readonly bigint[],
): readonly Difference[] {
  const shownSum = (field: string, sum = 0n): string =>
    field === 'amount' ? formatAmount(sum) : sum.toString()
  return fields.flatMap((field, n) =>
    log[n] === stands[n]
      ? []
      : [{ field, log: shownSum(field, log[n]), stands: shownSum(field, stands[n]) }],
  )
}

/** The name of a row, with which a finding about it begins. */
interface RowName {
  readonly table: string
  readonly key: string
  readonly position?: unknown
}

function named({ table, key, position }: RowName): Pick<Finding, 'table' | 'key' | 'position'> {
  const at = typeof position === 'bigint' ? position.toString() : position
  return { table, key, position: typeof at === 'string' ? at : '' }
}

/** A finding about a row that differs from the log. */
export function rowDiffers(name: RowName, differences: readonly Difference[]): Finding {
  const parts = differences.map(
    ({ field, log, stands }) => `${field} is ${stands ?? 'none'}, the log says ${log ?? 'none'}`,
  )
  return { code: 'row_differs', ...named(name), message: parts.join('; '), differences }
}

/** A finding about a row that the log requires and the table lacks; `says` is its content. */
export function rowMissing(name: RowName, says: Expected): Finding {
  return {
    code: 'row_missing',
    ...named(name),
    message: `missing: the log requires ${abridged(says)}`,
  }
}

/** A finding about a row that no event explains. */
export function rowUnexplained(name: RowName, row: AuditedRow): Finding {
  return {
    code: 'row_unexplained',
    ...named(name),
    message: `nothing in the log accounts for the row: ${abridged(row)}`,
  }
}

/** Compares rows with those that the log requires, by a column that distinguishes them. */
export function compareRows(
  expected: readonly Expected[],
  stored: readonly AuditedRow[],
  key: string,
  nameOf: (row: Expected) => RowName,
): readonly Finding[] {
  const left = new Map(stored.map((row) => [String(row[key]), row]))
  const found = expected.flatMap((says) => {
    const row = left.get(String(says[key]))
    left.delete(String(says[key]))
    if (row === undefined) return [rowMissing(nameOf(says), says)]
    const differences = differencesOf(says, row)
    return differences.length > 0 ? [rowDiffers(nameOf(says), differences)] : []
  })
  return [...found, ...[...left.values()].map((row) => rowUnexplained(nameOf(row), row))]
}

/** The columns that identify a row best in one line. */
const TELLING: ReadonlySet<string> = new Set([
  'tenant_id',
  'currency',
  'sku',
  'quantity',
  'amount',
  'kind',
  'type',
  'status',
  'state',
])

function abridged(row: Readonly<Record<string, unknown>>): string {
  const cells = Object.entries(row).filter(([column]) => TELLING.has(column))
  return cells.map(([column, value]) => `${column} ${shown(textOf(value)) ?? 'none'}`).join(', ')
}
