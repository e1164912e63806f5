import { DomainError } from '../../../src/kernel/errors.ts'
import { toQuantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { memberOf } from '../../engine/column.ts'
import { lineColumns, type LedgerLine } from '../line.ts'
import {
  conjunction,
  factConditions,
  lineConditions,
  Parameters,
  type LedgerFilter,
} from './filter.ts'

/** A settled line for readers, with its place in the hash chain; decimals canonical. */
export interface SettledLine extends Omit<LedgerLine, 'settledAt' | 'position'> {
  /** Unix milliseconds. */
  readonly settledAtMs: number
  /** Decimal. */
  readonly position: string
  readonly seq: string
  /** Hex. */
  readonly hash: string
}

/** A line with the sum of its adjustments, a decimal string. */
export interface AdjustedLine extends SettledLine {
  readonly adjusted: string
}

export interface LedgerPage {
  readonly items: readonly AdjustedLine[]
  /** The last line's id when there are more lines. */
  readonly next: string | undefined
}

/** Columns of a line `l` as `toLine` reads them. */
export const lineSelection = [
  ...Object.entries(lineColumns).map(([name, column]) => {
    const read = column.kind === 'amount' ? `trim_scale(l.${name})::text` : `l.${name}`
    return `${read} as "${memberOf(name, column)}"`
  }),
  'l.seq',
  `encode(l.hash, 'hex') as hash`,
].join(', ')

/** A selected row of `ledger.lines`. */
export type LineRecord = Omit<SettledLine, 'settledAtMs' | 'quantity'> & {
  readonly settledAt: Date
  readonly quantity: string
}

/** Reads such a row. */
export function toLine({ settledAt, quantity, ...rest }: LineRecord): SettledLine {
  return { ...rest, settledAtMs: settledAt.getTime(), quantity: toQuantity(quantity) }
}

/** A line's place in the order of lists. */
export interface LinePlace {
  readonly settledAt: Date | string
  readonly seq: string
}

/**
 * Start of a page: after this line in the order of the list. A line of another owner gives the same
 * error as a missing one (P8).
 */
export async function placeOf(
  db: Queryable,
  { tenantId, userIds }: LedgerFilter,
  lineId: string,
): Promise<LinePlace> {
  const parameters = new Parameters()
  const scope = factConditions({ tenantId, userIds }, parameters)
  const { rows } = await db.query<{ settled_at: Date; seq: string }>(
    `select settled_at, seq from ledger.lines
     where line_id = ${parameters.add(lineId)} and ${conjunction(scope)}`,
    parameters.values,
  )
  const [row] = rows
  if (row === undefined)
    throw new DomainError('invalid_cursor', 'cursor must be a next_cursor of this query', {
      param: 'cursor',
    })
  return { settledAt: row.settled_at, seq: row.seq }
}

/**
 * The newest lines behind a place, or the oldest ones, as the table `l`: to be ordered by time and number, and cut at
 * the limit, again.
 */
export function linesByTime(
  filter: LedgerFilter,
  page: {
    readonly place: LinePlace | undefined
    readonly limit: number
    readonly isOldestFirst?: boolean
  },
  parameters: Parameters,
): { readonly found: string; readonly limit: string } {
  const userIds = [...new Set(filter.userIds)]
  const isOfMany = userIds.length > 1
  const narrowed = isOfMany ? { ...filter, userIds: undefined } : filter
  const [order, isBehind] = page.isOldestFirst === true ? ['asc', '>'] : ['desc', '<']
  const conditions = [...lineConditions(narrowed, parameters)]
  if (page.place !== undefined) {
    const { settledAt, seq } = page.place
    conditions.push(
      `(settled_at, seq) ${isBehind} (${parameters.add(settledAt)}::timestamptz, ${parameters.add(seq)}::bigint)`,
    )
  }
  if (isOfMany) conditions.push('user_id = asked.user_id')
  const limit = parameters.add(page.limit)
  const first = `select * from ledger.lines where ${conjunction(conditions)}
                 order by settled_at ${order}, seq ${order} limit ${limit}`
  // The first of all are among the first of each user: only those are read and sorted.
  const found = isOfMany
    ? `unnest(${parameters.add(userIds)}::text[]) as asked (user_id) cross join lateral (${first}) l`
    : `(${first}) l`
  return { found, limit }
}

/**
 * Settled lines, newest first (by time of settlement, then by place in the log), a page after the
 * line named by `after`. @throws DomainError `invalid_cursor` when the owners of the
 * filter have no such line.
 */
export async function listLines(
  db: Queryable,
  filter: LedgerFilter,
  page: { readonly after?: string | undefined; readonly limit: number },
): Promise<LedgerPage> {
  const parameters = new Parameters()
  const place = page.after === undefined ? undefined : await placeOf(db, filter, page.after)
  const { found, limit } = linesByTime(filter, { place, limit: page.limit + 1 }, parameters)
  const { rows } = await db.query<AdjustedRecord>(
    `select ${adjustedSelection(filter, parameters)}
     from ${found} order by l.settled_at desc, l.seq desc limit ${limit}`,
    parameters.values,
  )
  return pageOf(rows, page)
}

/** A selected line with the sum of its adjustments. */
export type AdjustedRecord = LineRecord & Pick<AdjustedLine, 'adjusted'>

/** Columns of a line `l` with the sum of its adjustments. */
export function adjustedSelection({ asOf }: LedgerFilter, parameters: Parameters): string {
  const known = asOf === undefined ? '' : `and a.position <= ${parameters.add(asOf)}::bigint`
  return `${lineSelection},
          coalesce((select trim_scale(sum(a.amount)) from ledger.adjustments a
                    where a.line_id = l.line_id ${known}), 0)::text as adjusted`
}

/** The page of its rows, of which there may be one more. */
export function pageOf(
  rows: readonly AdjustedRecord[],
  page: { readonly limit: number },
): LedgerPage {
  const items = rows.slice(0, page.limit).map((row) => ({ ...toLine(row), adjusted: row.adjusted }))
  return { items, next: rows.length > page.limit ? items.at(-1)?.lineId : undefined }
}
