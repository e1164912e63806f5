import type { Queryable } from '../../engine/queryable.ts'
import { type LedgerFilter, Parameters } from './filter.ts'
import {
  adjustedSelection,
  type AdjustedRecord,
  type LedgerPage,
  linesByTime,
  type LinePlace,
  pageOf,
  placeOf,
} from './list.ts'

/** Settled lines in other orders than the newest first. */

/** The oldest first; of each currency the largest or the smallest amount first. */
export const lineOrders = ['settled_at', '-amount', 'amount'] as const
export type LineOrder = (typeof lineOrders)[number]

/** Lines that are sorted by amount at the most: no index has them in this order, so each page reads all of them. */
export const MAX_SORTED_LINES = 20_000

interface SortedPage {
  readonly after?: string | undefined
  readonly limit: number
}

interface AmountPage extends SortedPage {
  readonly isDescending: boolean
  readonly most: number
}

async function oldestLines(
  db: Queryable,
  filter: LedgerFilter,
  { limit: size, place }: { readonly limit: number; readonly place: LinePlace | undefined },
): Promise<LedgerPage> {
  const parameters = new Parameters()
  const asked = { place, limit: size + 1, isOldestFirst: true }
  const { found, limit } = linesByTime(filter, asked, parameters)
  const { rows } = await db.query<AdjustedRecord>(
    `select ${adjustedSelection(filter, parameters)}
     from ${found} order by l.settled_at, l.seq limit ${limit}`,
    parameters.values,
  )
  return pageOf(rows, { limit: size })
}

/** Undefined where the filter has more than `most` lines. */
async function linesByAmount(
  db: Queryable,
  filter: LedgerFilter,
  { after, limit: size, isDescending, most }: AmountPage,
): Promise<LedgerPage | undefined> {
  const parameters = new Parameters()
  const [way, isBehind] = isDescending ? ['desc', '<'] : ['asc', '>']
  const order = (line: string) =>
    `${line}.currency, ${line}.amount ${way}, ${line}.settled_at ${way}, ${line}.seq ${way}`
  const key = (line: string) => `(${line}.amount, ${line}.settled_at, ${line}.seq)`
  const { found, limit } = linesByTime(filter, { place: undefined, limit: most + 1 }, parameters)
  const behind =
    after === undefined
      ? ''
      : `join ledger.lines p on p.line_id = ${parameters.add(after)} and (f.currency > p.currency
           or f.currency = p.currency and ${key('f')} ${isBehind} ${key('p')})`
  const { rows } = await db.query<AdjustedRecord & { readonly found: number }>(
    `with found as materialized (
       select l.seq, l.currency, l.amount, l.settled_at from ${found}
       order by l.settled_at desc, l.seq desc limit ${limit}),
     shown as (
       select f.seq from found f ${behind} order by ${order('f')} limit ${parameters.add(size + 1)})
     select ${adjustedSelection(filter, parameters)}, (select count(*)::int from found) as found
     from shown join ledger.lines l on l.seq = shown.seq order by ${order('l')}`,
    parameters.values,
  )
  if ((rows[0]?.found ?? 0) > most) return undefined
  return pageOf(
    rows.map(({ found: _found, ...row }) => row),
    { limit: size },
  )
}

/**
 * A page of settled lines in an order, after the line named by `after`; undefined where the filter has more than `most`
 * lines to be ordered by amount. @throws DomainError `invalid_cursor` as `listLines`
 */
export async function sortedLines(
  db: Queryable,
  filter: LedgerFilter,
  page: SortedPage & { readonly order: LineOrder },
  most = MAX_SORTED_LINES,
): Promise<LedgerPage | undefined> {
  const { after, order, limit } = page
  const place = after === undefined ? undefined : await placeOf(db, filter, after)
  return order === 'settled_at'
    ? oldestLines(db, filter, { limit, place })
    : linesByAmount(db, filter, { after, limit, isDescending: order === '-amount', most })
}
