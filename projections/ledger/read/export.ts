import type { QueryArrayConfig, QueryConfig } from 'pg'
import type { Column } from '../../engine/column.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { lineColumns } from '../line.ts'
import { conjunction, type LedgerFilter, lineConditions, Parameters, sqlTime } from './filter.ts'
import { linesByTime, type LinePlace, placeOf } from './list.ts'

/**
 * The ledger for files: rows as cells of text, which cost a third of what objects do, in pages by key. A row is never
 * changed or taken away, so pages read at one position fit together without a snapshot.
 */

/** A row of text; null is nothing. */
export type Cells = readonly (string | null)[]

/** Rows of one page: as many as do not hold the event loop, which larger ones do without being faster. */
export const PAGE_ROWS = 1_000

/** A time as text in UTC, with microseconds. */
export const utc = (time: string): string =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** A column of the lines `l` as text. */
export function cellOf(name: string, { kind }: Column): string {
  if (kind === 'amount') return `trim_scale(l.${name})::text`
  return kind === 'time' ? utc(`l.${name}`) : `l.${name}::text`
}

/** Thousandths and millionths are multiplied, which is exact. */
const ofPer = 'case e.per when 1 then 1 when 1000 then 0.001 else 0.000001 end'

/** The cells of a line, by name. Times have microseconds: the last line's is the place of the next page. */
const lineCells = {
  ...Object.fromEntries(
    Object.entries(lineColumns).map(([name, column]) => [name, cellOf(name, column)]),
  ),
  /** Sum of the refunds of the line. */
  adjusted: 'coalesce(trim_scale(r.sum), 0)::text',
  /** The amount without these refunds. */
  net: 'trim_scale(l.amount - coalesce(r.sum, 0))::text',
  tenant_name: 't.name',
  user_name: 'u.name',
  token_name: 'k.name',
  hash: `encode(l.hash, 'hex')`,
  seq: 'l.seq::text',
} as Readonly<Record<LineCell, string>>

/** Prices of the book for the unit of the line, for as many as the line's own: `null` where the book has none. */
const listCells = {
  list_price: `case when l.account_prices is null then trim_scale(l.price)
                    else trim_scale(e.price * l.per * ${ofPer}) end::text`,
  list_amount: `case when l.account_prices is null then trim_scale(l.amount)
                     else trim_scale(l.quantity * e.price * ${ofPer}) end::text`,
}

const refundCells = {
  adjustment_id: 'l.adjustment_id',
  posted_at: utc('l.posted_at'),
  refunded: 'trim_scale(l.refunded)::text',
  code: 'l.code',
  posted_position: 'l.posted_position::text',
}

type LineCell =
  | keyof typeof lineColumns
  | 'adjusted'
  | 'net'
  | 'tenant_name'
  | 'user_name'
  | 'token_name'
  | 'hash'
  | 'seq'

/** Numbers of cells by their names. */
export function numbered<Name extends string>(cells: Readonly<Record<Name, string>>) {
  return Object.fromEntries(Object.keys(cells).map((name, n) => [name, n])) as Readonly<
    Record<Name, number>
  >
}

const pricedCells = { ...lineCells, ...listCells }
const refundedCells = { ...pricedCells, ...refundCells }

/** Where the cells of a line are in its row; those of list prices only where they were asked for. */
export const lineCell = numbered(pricedCells)
/** Where the cells of a refund are: those of its line first. */
export const refundCell = numbered(refundedCells)

/** Reads rows as cells. */
export async function readCells(
  db: Queryable,
  text: string,
  parameters: Parameters,
): Promise<readonly Cells[]> {
  const asked: QueryArrayConfig = { text, values: [...parameters.values], rowMode: 'array' }
  const { rows } = await db.query(asked as QueryConfig)
  return rows as unknown as readonly Cells[]
}

/** Selects cells of the lines `l` that `found` has. */
function selection(
  cells: Readonly<Record<string, string>>,
  found: string,
  { asOf }: LedgerFilter,
  parameters: Parameters,
): string {
  const known = asOf === undefined ? '' : `and a.position <= ${parameters.add(asOf)}::bigint`
  const prices =
    'list_price' in cells
      ? `left join prices.entries e on e.version = l.price_book_version and e.sku = l.sku
           and e.currency = l.currency and e.unit = l.unit`
      : ''
  return `select ${Object.values(cells).join(', ')} from ${found}
    left join lateral (select sum(a.amount) as sum from ledger.adjustments a
                       where a.line_id = l.line_id ${known}) r on true
    left join access.tenants t on t.tenant_id = l.tenant_id
    left join access.users u on u.tenant_id = l.tenant_id and u.user_id = l.user_id
    left join access.tokens k on k.token_id = l.token_id
    ${prices}`
}

/** Pages of rows, each behind the last row of the one before, up to `limit` rows. */
export async function* pagesOf<At>(
  first: At | undefined,
  limit: number,
  read: (at: At | undefined, limit: number) => Promise<readonly Cells[]>,
  atOf: (row: Cells) => At,
  pageRows = PAGE_ROWS,
): AsyncGenerator<readonly Cells[]> {
  let at = first
  for (let left = limit; left > 0;) {
    const wanted = Math.min(left, pageRows)
    const rows = await read(at, wanted)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < wanted) return
    at = atOf(last)
    left -= rows.length
  }
}

/** Settled lines as `listLines` has them, newest first. @throws DomainError `invalid_cursor` */
export async function* exportLines(
  db: Queryable,
  filter: LedgerFilter,
  page: {
    readonly after?: string | undefined
    readonly limit?: number | undefined
    /** Whether rows have the prices of the book too. */
    readonly listPrices?: boolean
  },
): AsyncGenerator<readonly Cells[]> {
  const first = page.after === undefined ? undefined : await placeOf(db, filter, page.after)
  const cells = page.listPrices === true ? pricedCells : lineCells
  const read = (place: LinePlace | undefined, limit: number): Promise<readonly Cells[]> => {
    const parameters = new Parameters()
    const newest = linesByTime(filter, { place, limit }, parameters)
    const text = `${selection(cells, newest.found, filter, parameters)}
      order by l.settled_at desc, l.seq desc limit ${newest.limit}`
    return readCells(db, text, parameters)
  }
  yield* pagesOf(first, page.limit ?? Number.POSITIVE_INFINITY, read, (row) => ({
    settledAt: row[lineCell.settled_at] ?? '',
    seq: row[lineCell.seq] ?? '',
  }))
}

interface PostedPlace {
  readonly at: string
  readonly position: string
}

/** Conditions on when something was posted, behind a place, with `at` as the column of its time. */
function postedConditions(
  { tenantId, fromMs, toMs, asOf, since }: LedgerFilter,
  at: string,
  place: PostedPlace | undefined,
  parameters: Parameters,
): readonly string[] {
  return [
    ...(tenantId === undefined ? [] : [`tenant_id = ${parameters.add(tenantId)}`]),
    ...(fromMs === undefined ? [] : [`${at} >= ${sqlTime(fromMs, parameters)}`]),
    ...(toMs === undefined ? [] : [`${at} < ${sqlTime(toMs, parameters)}`]),
    ...(asOf === undefined ? [] : [`position <= ${parameters.add(asOf)}::bigint`]),
    ...(since === undefined ? [] : [`position > ${parameters.add(since)}::bigint`]),
    ...(place === undefined
      ? []
      : [
          `(${at}, position) < (${parameters.add(place.at)}::timestamptz, ${parameters.add(place.position)}::bigint)`,
        ]),
  ]
}

/** Reads refunds that were posted in the time of the filter, newest first, each with its line. */
export function exportRefunds(
  db: Queryable,
  filter: LedgerFilter,
): AsyncIterable<readonly Cells[]> {
  const read = (place: PostedPlace | undefined, limit: number): Promise<readonly Cells[]> => {
    const parameters = new Parameters()
    const posted = conjunction(postedConditions(filter, 'posted_at', place, parameters))
    const timeless = { ...filter, fromMs: undefined, toMs: undefined, since: undefined }
    const ofLines = conjunction(lineConditions(timeless, parameters))
    const found = `(
      select lines.*, a.* from (
        select adjustment_id, posted_at, amount as refunded, code, position as posted_position,
               line_id as of_line
        from ledger.adjustments where line_id is not null and ${posted}) a
      join ledger.lines on line_id = a.of_line where ${ofLines}
      order by posted_at desc, posted_position desc limit ${parameters.add(limit)}) l`
    const text = `${selection(refundedCells, found, filter, parameters)}
      order by l.posted_at desc, l.posted_position desc`
    return readCells(db, text, parameters)
  }
  return pagesOf(undefined, Number.POSITIVE_INFINITY, read, (row) => ({
    at: row[refundCell.posted_at] ?? '',
    position: row[refundCell.posted_position] ?? '',
  }))
}

const creditCells = {
  id: 'p.id',
  grant_id: 'p.grant_id',
  posted_at: utc('p.posted_at'),
  tenant_id: 'p.tenant_id',
  currency: 'p.currency',
  amount: 'trim_scale(p.amount)::text',
  /** `paid` or `promotional`. */
  credit: 'p.credit',
  reference: 'p.reference',
  position: 'p.position::text',
}

/** Where the cells of a credit are. */
export const creditCell = numbered(creditCells)

/**
 * Credit that was granted in the time of the filter, and what was corrected of it then, newest first. Only
 * tenant, currency, time and position of the filter count.
 */
export function exportCredits(
  db: Queryable,
  filter: LedgerFilter,
): AsyncIterable<readonly Cells[]> {
  const read = (place: PostedPlace | undefined, limit: number): Promise<readonly Cells[]> => {
    const parameters = new Parameters()
    const granted = conjunction(postedConditions(filter, 'granted_at', place, parameters))
    const posted = conjunction(postedConditions(filter, 'posted_at', place, parameters))
    const currency =
      filter.currency === undefined ? 'true' : `currency = ${parameters.add(filter.currency)}`
    const most = parameters.add(limit)
    const order = 'order by posted_at desc, position desc'
    return readCells(
      db,
      `select ${Object.values(creditCells).join(', ')} from (
         (select grant_id as id, grant_id, granted_at as posted_at, tenant_id, currency, amount, credit, reference,
                 position
          from ledger.grants where ${granted} and ${currency} ${order} limit ${most})
         union all
         (select adjustment_id, grant_id, posted_at, tenant_id, currency, amount, g.credit, g.reference, position
          from ledger.adjustments
          join (select grant_id, credit, reference, tenant_id as tenant from ledger.grants) g using (grant_id)
          where tenant = tenant_id and ${posted} and ${currency} ${order} limit ${most})) p
       order by p.posted_at desc, p.position desc limit ${most}`,
      parameters,
    )
  }
  return pagesOf(undefined, Number.POSITIVE_INFINITY, read, (row) => ({
    at: row[creditCell.posted_at] ?? '',
    position: row[creditCell.position] ?? '',
  }))
}
