import { fromTimestamp, toTimestamp } from '../../src/kernel/clock.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { invariant } from '../../src/kernel/assert.ts'
import type { Queryable } from './queryable.ts'

/**
 * Stored rows, for an auditor: every column as text in one canonical form, whatever its type, so
 * that a row can be compared with the log without a number or a time losing digits.
 */

/** How a column is read. `text` fits every type that has only one form as text. */
export type ColumnKind = 'text' | 'amount' | 'time' | 'date' | 'json' | 'hex'

/** A table of a read model and the columns that follow from the log. */
export interface AuditedTable {
  /** Name with its schema, e.g. `ledger.lines`. */
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Columns by name: text, null, or the parsed value of a JSON column. */
export type AuditedRow = Readonly<Record<string, unknown>>

/** A table whose rows each follow from the events of one stream: an audit folds the stream again. */
export interface StreamTable {
  readonly table: AuditedTable
  /** The stream with the events of an owner; undefined where it depends on the row. */
  readonly stream: ((owner: string) => string) | undefined
  /** The column that names the owner. */
  readonly owner: string
  /** The column that distinguishes the rows of an owner; the same where there is one. */
  readonly key: string
  /** The types of events that set something. */
  readonly types: ReadonlySet<string>
  /** Key of the row that an event begins, if such rows are never removed. */
  readonly begun?: (event: RecordedEvent) => string | undefined
  /** The rows after the events of one stream, by key: the columns that are to be compared. */
  readonly rows: (events: readonly RecordedEvent[]) => ReadonlyMap<string, AuditedRow>
  /** Whether a row may be missing, because a policy deletes rows or another check covers it. */
  readonly mayLack?: (row: AuditedRow) => boolean
}

/** Id of the task, token or other source of an event. */
export interface Owner {
  readonly tenantId: string
  readonly userId: string | undefined
}

/** A table whose rows each belong to one event and never change. */
export interface EventTable {
  readonly table: AuditedTable
  /** The column that distinguishes the rows of one event. */
  readonly key: string
  /** Whether the key is unique in the table: a row is then found at any position. */
  readonly unique: boolean
  /** Name of a row in a finding. */
  readonly nameOf?: (row: AuditedRow) => string
  /** Columns that other events set. */
  readonly excluded?: readonly string[]
  /** The row of an event, given the owner of its source. */
  readonly row: (event: RecordedEvent, owner: Owner | undefined) => AuditedRow | undefined
}

const forms: Readonly<Record<ColumnKind, (column: string) => string>> = {
  text: (column) => `${column}::text`,
  amount: (column) => `trim_scale(${column})::text`,
  time: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  date: (column) => `to_char(${column}, 'YYYY-MM-DD')`,
  json: (column) => `to_json(${column})`,
  hex: (column) => `encode(${column}, 'hex')`,
}

/** The format of times in events, which `Date` would print the same; a match saves the parsing. */
const PLAIN_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** A time of an event in the form of a column of times. */
export function canonicalTime(time: string | number | Date): string {
  if (typeof time === 'string' && PLAIN_TIME.test(time)) return `${time.slice(0, -1)}000Z`
  const unixMs = typeof time === 'string' ? fromTimestamp(time) : time.valueOf()
  return `${toTimestamp(unixMs).slice(0, -1)}000Z`
}

/** The text as written, which for JSON keeps the order of members. */
function asWritten(column: string, kind: ColumnKind): string {
  return kind === 'json' ? `${column}::text` : forms[kind](column)
}

function selection({ name, columns }: AuditedTable): string {
  const read = Object.entries(columns).map(
    ([column, kind]) => `${forms[kind](column)} as ${column}`,
  )
  return `select ${read.join(', ')} from ${name}`
}

/** Rows whose event lies after one position and up to another, in the order of the log. */
export async function rowsBetween(
  db: Queryable,
  table: AuditedTable,
  range: { readonly after: bigint; readonly upTo: bigint; readonly limit: number },
): Promise<readonly AuditedRow[]> {
  const { rows } = await db.query<AuditedRow>(
    `${selection(table)} as t where t.position > $1 and t.position <= $2
           order by t.position limit $3`,
    [range.after, range.upTo, range.limit],
  )
  return rows
}

/**
 * Separator of the cells of a digested column, and replacement of null. No cell may contain either.
 */
interface CellMarks {
  readonly between: string
  readonly null: string
}

/** Number of rows, and for each column the SHA-256 over its cells, in hex. */
export interface RowDigest {
  readonly rows: number
  readonly columns: readonly string[]
}

/**
 * Digests of these columns of the rows whose event lies in a range, in the order of position and key:
 * a thousand rows that are as they must be need not be read one by one. At most `limit` rows.
 */
export async function digestBetween(
  db: Queryable,
  table: AuditedTable,
  of: { readonly columns: readonly string[]; readonly key: string; readonly marks: CellMarks },
  range: { readonly after: bigint; readonly upTo: bigint; readonly limit: number },
): Promise<RowDigest> {
  // Digested column by column: collecting the cells of each row first costs Postgres twice as much.
  const cells = of.columns.map(
    (column, at) => `${asWritten(column, table.columns[column] ?? 'text')} as c${at}`,
  )
  const digests = of.columns.map(
    (_, at) => `encode(sha256(convert_to(string_agg(coalesce(c${at}, $4), $5), 'UTF8')), 'hex')`,
  )
  const { rows } = await db.query<RowDigest>(
    `select count(*)::int as rows, array[${digests.join(', ')}] as columns
     from (select ${cells.join(', ')} from ${table.name} as t
           where t.position > $1 and t.position <= $2
           order by t.position, t.${of.key}::text collate "C" limit $3) as stretch`,
    [range.after, range.upTo, range.limit, of.marks.null, of.marks.between],
  )
  const [digest] = rows
  invariant(digest, `${table.name} has no digest`)
  return digest
}

/** Rows with one of these keys. */
export async function rowsByKey(
  db: Queryable,
  table: AuditedTable,
  column: string,
  keys: readonly string[],
): Promise<readonly AuditedRow[]> {
  if (keys.length === 0) return []
  const { rows } = await db.query<AuditedRow>(
    `${selection(table)} as t where t.${column} = any($1::text[])`,
    [keys],
  )
  return rows
}

/** Rows after a number, in the order of that number. */
export async function rowsAfter(
  db: Queryable,
  table: AuditedTable,
  column: string,
  page: { readonly after: bigint; readonly limit: number },
): Promise<readonly AuditedRow[]> {
  const { rows } = await db.query<AuditedRow>(
    `${selection(table)} as t where t.${column} > $1 order by t.${column} limit $2`,
    [page.after, page.limit],
  )
  return rows
}

/** Number of rows whose events are at or before a position. */
export async function countUpTo(
  db: Queryable,
  { name }: AuditedTable,
  position: bigint,
): Promise<bigint> {
  const { rows } = await db.query<{ n: string }>(
    `select count(*) as n from ${name} where position <= $1`,
    [position],
  )
  return BigInt(rows[0]?.n ?? 0)
}

/** Every row of a table that is as small as the tenants are many. */
export async function allRows(db: Queryable, table: AuditedTable): Promise<readonly AuditedRow[]> {
  const { rows } = await db.query<AuditedRow>(selection(table))
  return rows
}

/** A text column that rows are walked by, and how rows are left out of the walk. */
interface KeyColumn {
  readonly table: string
  readonly column: string
  /** Only rows whose last event lies after this position. */
  readonly changedAfter?: bigint | undefined
}

/** The next keys, in order, of all these columns together: a page to walk several tables by. */
export async function nextKeys(
  db: Queryable,
  columns: readonly KeyColumn[],
  page: { readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  const values: unknown[] = [page.after, page.limit]
  const parts = columns.map(({ table, column, changedAfter }) => {
    const changed =
      changedAfter === undefined ? '' : ` and position > $${values.push(changedAfter)}::bigint`
    // An owner may have many rows, which must not fill the page.
    return `(select distinct ${column} as key from ${table} where ${column} > $1${changed}
             order by ${column} limit $2)`
  })
  const { rows } = await db.query<{ key: string }>(
    `select key from (${parts.join(' union ')}) as k order by key limit $2`,
    values,
  )
  return rows.map(({ key }) => key)
}

/** Postings of one tenant in one currency: dated in a stretch of time, known in a stretch of the log. */
export interface PostedStretch {
  readonly tenantId: string
  readonly currency: string
  /** RFC 3339; undefined: from the first on. */
  readonly from: string | undefined
  /** RFC 3339, exclusive. */
  readonly to: string
  readonly after: bigint
  readonly upTo: bigint
}

/** A place in the order of time; `order` is the column that decides among rows of one time. */
export interface TimePlace {
  readonly at: string
  readonly order: bigint
}

/** Postings in the order of time, after a place or from the first on. */
export async function rowsInTime(
  db: Queryable,
  table: AuditedTable,
  { time, order }: { readonly time: string; readonly order: string },
  { tenantId, currency, from, to, after, upTo }: PostedStretch,
  page: { readonly after: TimePlace | undefined; readonly limit: number },
): Promise<readonly AuditedRow[]> {
  const { at, order: number } = page.after ?? { at: '-infinity', order: 0n }
  const { rows } = await db.query<AuditedRow>(
    `${selection(table)} as t where t.tenant_id = $1 and t.currency = $2
           and (t.${time}, t.${order}) > ($3::timestamptz, $4::bigint)
           and t.${time} >= $5::timestamptz and t.${time} < $6::timestamptz
           and t.position > $7 and t.position <= $8
           order by t.${time}, t.${order} limit $9`,
    [tenantId, currency, at, number, from ?? '-infinity', to, after, upTo, page.limit],
  )
  return rows
}
