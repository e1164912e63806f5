import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { canonicalText } from '../fold/chain.ts'
import { lineColumns } from '../line.ts'
import { type Cells, cellOf, numbered, PAGE_ROWS, pagesOf, readCells, utc } from './export.ts'
import { conjunction, type LedgerFilter, lineConditions, Parameters, sqlTime } from './filter.ts'

/** Everything that moved a balance, oldest first: lines, and credit that was given or corrected. */

/** Where a posting stands among others; a page begins at one. */
export interface PostingPlace {
  /** RFC 3339 in UTC with microseconds. */
  readonly at: string
  /** Decimal. */
  readonly position: string
}

/**
 * The postings of one account between two times as known at a position, and those dated earlier that
 * came after another position.
 */
export interface PostingBounds {
  readonly tenantId: string
  readonly currency: string
  /** Unix milliseconds, inclusive and exclusive. */
  readonly fromMs: number
  readonly toMs: number
  readonly asOf: bigint
  /** Postings dated before the first time count from behind this position of the log. */
  readonly since: bigint
}

/** How a list begins and how large its pages are. */
interface PostingPage {
  /** The first posting is at this place or behind it; undefined: all. */
  readonly from?: PostingPlace | undefined
  readonly pageRows?: number | undefined
}

const postedLineCells = {
  ...Object.fromEntries(
    Object.entries(lineColumns).map(([name, column]) => [name, cellOf(name, column)]),
  ),
  seq: 'l.seq::text',
} as Readonly<Record<keyof typeof lineColumns | 'seq', string>>

/** Where the cells of a posted line are. */
export const postedLineCell = numbered(postedLineCells)

const LINE_CELLS = Object.keys(lineColumns).length
const numberCells = ['quantity', 'per', 'account_prices'] as const

/** The bytes of a line that the chain of the ledger hashes, from its cells. */
export function canonicalCells(row: Cells): string {
  const values: (string | number | null)[] = row.slice(0, LINE_CELLS)
  values[postedLineCell.settled_at] = inMilliseconds(row[postedLineCell.settled_at] ?? '')
  for (const name of numberCells) {
    const value = row[postedLineCell[name]]
    if (value != null) values[postedLineCell[name]] = Number(value)
  }
  return canonicalText(values)
}

/** Times have milliseconds in the log, microseconds as cells. */
export const inMilliseconds = (time: string): string => `${time.slice(0, 23)}Z`

const behind = (
  place: PostingPlace,
  columns: string,
  sign: string,
  parameters: Parameters,
): string =>
  `(${columns}) ${sign} (${parameters.add(place.at)}::timestamptz, ${parameters.add(place.position)}::bigint)`

/** Lines of a filter by time, then by their place in the log. */
function oldestLines(
  db: Queryable,
  filter: LedgerFilter,
  { from, pageRows }: PostingPage,
): AsyncGenerator<readonly Cells[]> {
  const read = (after: PostingPlace | undefined, limit: number): Promise<readonly Cells[]> => {
    const parameters = new Parameters()
    const conditions = [
      ...lineConditions(filter, parameters),
      ...(after === undefined ? [] : [behind(after, 'settled_at, seq', '>', parameters)]),
      // The index has times and numbers, and no positions: the first condition finds the time in it.
      ...(after === undefined && from !== undefined
        ? [
            `settled_at >= ${parameters.add(from.at)}::timestamptz`,
            behind(from, 'settled_at, position', '>=', parameters),
          ]
        : []),
    ]
    const text = `select ${Object.values(postedLineCells).join(', ')} from ledger.lines l
      where ${conjunction(conditions)} order by l.settled_at, l.seq limit ${parameters.add(limit)}`
    return readCells(db, text, parameters)
  }
  // A page continues behind the number of its last line.
  const placeOf = (row: Cells): PostingPlace => ({
    at: row[postedLineCell.settled_at] ?? '',
    position: row[postedLineCell.seq] ?? '',
  })
  return pagesOf(undefined, Number.POSITIVE_INFINITY, read, placeOf, pageRows)
}

/** Posted lines of an account: first those dated before its bounds, where there are any (`withEarlier`). */
export async function* postedLines(
  db: Queryable,
  { tenantId, currency, fromMs, toMs, asOf, since }: PostingBounds,
  page: PostingPage & { readonly withEarlier: boolean },
): AsyncGenerator<readonly Cells[]> {
  const account = { tenantId, currency, asOf }
  if (page.withEarlier) yield* oldestLines(db, { ...account, toMs: fromMs, since }, page)
  yield* oldestLines(db, { ...account, fromMs, toMs }, page)
}

const postedCreditCells = {
  kind: 'p.kind',
  id: 'p.id',
  posted_at: utc('p.posted_at'),
  tenant_id: 'p.tenant_id',
  currency: 'p.currency',
  amount: 'trim_scale(p.amount)::text',
  /** `paid` or `promotional` of a grant, `line` or `grant` of an adjustment. */
  of: 'p.of',
  /** The reference of a grant, the target of an adjustment. */
  about: 'p.about',
  code: 'p.code',
  reason: 'p.reason',
  position: 'p.position::text',
}

/** Where the cells of a posted credit are. */
export const postedCreditCell = numbered(postedCreditCells)

const postedCreditsSql = `
  select 'grant' as kind, grant_id as id, granted_at as posted_at, tenant_id, currency, amount,
         credit as of, reference as about, null as code, reason, position
  from ledger.grants
  union all
  select 'adjustment', adjustment_id, posted_at, tenant_id, currency, amount,
         case when line_id is null then 'grant' else 'line' end, coalesce(line_id, grant_id), code,
         reason, position
  from ledger.adjustments`

/** Grants and adjustments of an account by time, then by position; those dated earlier come first. */
export function postedCredits(
  db: Queryable,
  { tenantId, currency, fromMs, toMs, asOf, since }: PostingBounds,
  { from, pageRows = PAGE_ROWS }: PostingPage = {},
): AsyncGenerator<readonly Cells[]> {
  const read = (after: PostingPlace | undefined, limit: number): Promise<readonly Cells[]> => {
    const parameters = new Parameters()
    const conditions = [
      `tenant_id = ${parameters.add(tenantId)}`,
      `currency = ${parameters.add(currency)}`,
      `position <= ${parameters.add(asOf)}::bigint`,
      `posted_at < ${sqlTime(toMs, parameters)}`,
      `(posted_at >= ${sqlTime(fromMs, parameters)} or position > ${parameters.add(since)}::bigint)`,
      ...(after === undefined ? [] : [behind(after, 'posted_at, position', '>', parameters)]),
      ...(after === undefined && from !== undefined
        ? [behind(from, 'posted_at, position', '>=', parameters)]
        : []),
    ]
    const text = `select ${Object.values(postedCreditCells).join(', ')} from (${postedCreditsSql}) p
      where ${conjunction(conditions)} order by p.posted_at, p.position limit ${parameters.add(limit)}`
    return readCells(db, text, parameters)
  }
  const placeOf = (row: Cells): PostingPlace => ({
    at: row[postedCreditCell.posted_at] ?? '',
    position: row[postedCreditCell.position] ?? '',
  })
  return pagesOf(undefined, Number.POSITIVE_INFINITY, read, placeOf, pageRows)
}

/** The sum of refunds of one group of lines. */
export interface GroupedRefunds {
  /** Number of the group in the order of the bounds, from 0; null: none has the lines. */
  readonly group: number | null
  readonly amount: string
  readonly postings: number
}

/**
 * Refunds of an account within bounds, by the first of these groups that has the line: a line is in
 * a group when it is dated before `toMs` and known at `asOf`.
 */
export async function refundsByGroup(
  db: Queryable,
  { tenantId, currency, fromMs, toMs, asOf, since }: PostingBounds,
  groups: readonly { readonly toMs: number; readonly asOf: bigint }[],
): Promise<readonly GroupedRefunds[]> {
  const { rows } = await db.query<{ group: string | null; amount: string; postings: string }>(
    `select g.n as group, trim_scale(sum(a.amount))::text as amount, count(*)::text as postings
     from ledger.adjustments a
     join ledger.lines l on l.line_id = a.line_id
     left join lateral (
       select n - 1 as n from unnest($7::float8[], $8::bigint[]) with ordinality as g (to_ms, as_of, n)
       where l.settled_at < to_timestamp(g.to_ms / 1000) and l.position <= g.as_of order by n limit 1) g on true
     where a.tenant_id = $1 and a.currency = $2 and a.position <= $3
       and a.posted_at < to_timestamp($4::float8 / 1000)
       and (a.posted_at >= to_timestamp($5::float8 / 1000) or a.position > $6)
     group by g.n order by g.n nulls last`,
    [
      tenantId,
      currency,
      asOf,
      toMs,
      fromMs,
      since,
      groups.map((group) => group.toMs),
      groups.map((group) => group.asOf),
    ],
  )
  return rows.map(({ group, amount, postings }) => {
    return { group: group === null ? null : Number(group), amount, postings: Number(postings) }
  })
}

/** The sum of the holds that were placed before a time and are still placed; decimal. */
export async function heldSince(
  db: Queryable,
  account: { readonly tenantId: string; readonly currency: string },
  beforeMs: number,
): Promise<string> {
  const { rows } = await db.query<{ amount: string }>(
    `select trim_scale(coalesce(sum(amount), 0))::text as amount from ledger.holds
     where tenant_id = $1 and currency = $2 and state = 'placed'
       and placed_at < to_timestamp($3::float8 / 1000)`,
    [account.tenantId, account.currency, beforeMs],
  )
  return rows[0]?.amount ?? '0'
}

/** Where a line of a tenant stands in its account; undefined where it has no such line. */
export async function placeOfPosting(
  db: Queryable,
  { tenantId, lineId }: { readonly tenantId: string; readonly lineId: string },
): Promise<(PostingPlace & { readonly currency: Currency }) | undefined> {
  const { rows } = await db.query<PostingPlace & { currency: Currency }>({
    name: 'ledger.place-of-posting',
    text: `select ${utc('settled_at')} as at, position::text as position, currency
           from ledger.lines where line_id = $1 and tenant_id = $2`,
    values: [lineId, tenantId],
  })
  return rows[0]
}

/** An account that has money movements or a credit limit. */
export interface LedgerAccount {
  readonly tenantId: string
  readonly currency: Currency
  /** Unix milliseconds. */
  readonly openedAtMs: number
  /** The last month that is closed, `YYYY-MM`; null: none. */
  readonly lastMonth: string | null
  /** Terms of the billing details of its tenant; null: never set. */
  readonly billing: {
    readonly timeZone: string
    readonly graceHours: number
    readonly revision: number
  } | null
}

/** Accounts `b` with their tenants `t`, billing details `a` and the last month `p` that stands, for a `from` clause. */
export const accountsSql = `ledger.balances b join access.tenants t using (tenant_id)
     left join access.accounts a on a.tenant_id = t.tenant_id and a.slot = 'BillingProfileSet'
     left join lateral (
       select month from statements.periods
       where tenant_id = b.tenant_id and currency = b.currency and state <> 'voided'
       order by n desc limit 1) p on true`

/** The accounts of these tenants, or of all, by tenant and currency. */
export async function listAccounts(
  db: Queryable,
  {
    tenantIds,
    currency,
  }: { readonly tenantIds: readonly string[] | undefined; readonly currency: string | undefined },
): Promise<readonly LedgerAccount[]> {
  const { rows } = await db.query<Omit<LedgerAccount, 'openedAtMs'> & { opened_at: Date }>(
    `select t.tenant_id as "tenantId", b.currency, t.opened_at,
            case when a.data is not null then json_build_object(
              'timeZone', a.data -> 'timeZone', 'revision', a.data -> 'revision',
              'graceHours', a.data -> 'graceHours') end as billing,
            p.month as "lastMonth"
     from ${accountsSql}
     where ($1::text[] is null or b.tenant_id = any($1)) and ($2::text is null or b.currency = $2)
     order by b.tenant_id, b.currency`,
    [tenantIds ?? null, currency ?? null],
  )
  return rows.map(({ opened_at: openedAt, ...row }) => ({ ...row, openedAtMs: openedAt.getTime() }))
}
