import type { Currency } from '../../src/kernel/money.ts'
import type { Queryable } from '../engine/queryable.ts'

export { type LineOrder, lineOrders, MAX_SORTED_LINES, sortedLines } from './read/sorted.ts'
export { listLines, type AdjustedLine, type LedgerPage, type SettledLine } from './read/list.ts'
export {
  creditCell,
  exportCredits,
  exportLines,
  exportRefunds,
  lineCell,
  PAGE_ROWS,
  refundCell,
  type Cells,
} from './read/export.ts'
export {
  canonicalCells,
  heldSince,
  inMilliseconds,
  listAccounts,
  placeOfPosting,
  postedCreditCell,
  postedCredits,
  postedLineCell,
  postedLines,
  refundsByGroup,
  type LedgerAccount,
  type PostingBounds,
  type PostingPlace,
} from './read/postings.ts'
export { type AccountGroup, accountGroups } from './read/account-groups.ts'
export { refundsOfLines, lineFacts, linesByIds, type LineRefund } from './read/adjustments.ts'
export {
  creditKinds,
  listCredits,
  sumCredits,
  sumCreditsByCode,
  type CodeTotal,
  type CreditRow,
  type CreditTotal,
} from './read/credits.ts'
export {
  hasLines,
  refundsOfSources,
  settledAmounts,
  settledSource,
  type SettledAmount,
  type SettledSource,
} from './read/settled.ts'
export { creditsByPrefix, type FoundPosting, grantsByReference, linesById } from './read/search.ts'
export { ledgerTables } from './tables.ts'
export { ledgerTenants, pricedLines } from './read/priced.ts'
export {
  comparePeriods,
  linesPerDay,
  summedLines,
  type DayRange,
  type PeriodComparison,
  type PeriodKey,
  type PeriodTable,
  type PeriodTotals,
  type SummedLines,
} from './read/derived.ts'
export {
  placedHolds,
  sumEntries,
  sumLines,
  totals,
  trialBalance,
  type SummedStretch,
  type LedgerTotal,
} from './read/totals.ts'
export {
  timeKeys,
  usage,
  usageExtent,
  type UsageGroup,
  type UsageKey,
  type UsageQuery,
} from './read/usage.ts'
export {
  countCredits,
  countLines,
  listLogs,
  logKinds,
  type LogFilter,
  type LogKind,
  type LogRow,
} from './read/logs.ts'
export { isOfLines, type LedgerFilter } from './read/filter.ts'
export { chainHash, canonicalBytes, GENESIS } from './fold/chain.ts'
export type { LedgerLine } from './line.ts'

/**
 * The balances of the tenants of `$1` in the ledger, with its position, as a query for a statement
 * that adds settlements the ledger does not have yet. It has no rows before the ledger first ran.
 */
export const ledgerBalancesSql = `
  select b.tenant_id, b.currency, c.position, b.granted, b.adjusted, b.refunded, b.credit_limit,
         b.settled, b.held
  from engine.checkpoints c join ledger.balances b on b.tenant_id = any($1::text[])
  where c.name = 'ledger'`

/**
 * The tenants of which a balance moved after the position `$1`, as a query that ends with its condition. It reads the
 * position of every balance: an index of it would cost each call an entry.
 */
export const movedTenantsSql = `select tenant_id from ledger.balances where position > $1::bigint`

/**
 * Balances without subtracting holds, and the position they are known as of, as a query whose
 * columns are `tenant_id`, `currency`, `balance` and `position`.
 */
export const remainingSql = `
  select b.tenant_id, b.currency, b.granted + b.adjusted + b.credit_limit - b.settled as balance, c.position
  from ledger.balances b cross join engine.checkpoints c where c.name = 'ledger'`

/** Whether the ledger has placed the hold of the source that an SQL expression names. */
export const hasHoldSql = (source: string): string =>
  `exists (select from ledger.holds h where h.source_id = ${source})`

/** Head of the hash chain: how many lines there are and the hash of the last. */
export async function chainHead(
  db: Queryable,
): Promise<{ readonly seq: bigint; readonly hash: string }> {
  const { rows } = await db.query<{ seq: string; hash: string }>(
    `select seq, encode(hash, 'hex') as hash from ledger.chain`,
  )
  return { seq: BigInt(rows[0]?.seq ?? 0), hash: rows[0]?.hash ?? '' }
}

/** Holds of running tasks, by token and user. */
interface HeldByOwner {
  readonly currency: Currency
  /** Undefined, as is the token, where the read model of tasks does not have them yet. */
  readonly userId: string | undefined
  readonly tokenId: string | undefined
  /** Exact decimal. */
  readonly amount: string
}

/** Holds of a tenant's running tasks. */
export async function heldByOwner(
  db: Queryable,
  tenantId: string,
): Promise<readonly HeldByOwner[]> {
  const { rows } = await db.query<{
    currency: Currency
    user_id: string | null
    token_id: string | null
    amount: string
  }>({
    name: 'ledger.held-by-owner',
    text: `select h.currency, t.user_id, t.token_id, sum(h.amount)::text as amount
           from ledger.holds h left join tasks.tasks t on t.platform_id = h.source_id
           where h.tenant_id = $1 and h.state = 'placed'
           group by h.currency, t.user_id, t.token_id`,
    values: [tenantId],
  })
  return rows.map(({ currency, user_id: userId, token_id: tokenId, amount }) => ({
    currency,
    userId: userId ?? undefined,
    tokenId: tokenId ?? undefined,
    amount,
  }))
}

/** Tasks of a tenant that hold money of one currency. */
export interface OpenHolds {
  readonly currency: Currency
  readonly tasks: number
  /** When the oldest of them was admitted, Unix milliseconds. */
  readonly sinceMs: number
}

/** Counts the tasks of tenants that hold money, by tenant and currency; a tenant without any is absent. */
export async function openHolds(
  db: Queryable,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, readonly OpenHolds[]>> {
  const { rows } = await db.query<{
    tenant_id: string
    currency: Currency
    tasks: string
    since: Date
  }>({
    name: 'ledger.open-holds',
    text: `select tenant_id, currency, count(*) as tasks, min(placed_at) as since from ledger.holds
           where tenant_id = any($1::text[]) and state = 'placed' group by tenant_id, currency`,
    values: [tenantIds],
  })
  const found = new Map<string, OpenHolds[]>()
  for (const { tenant_id: tenantId, currency, tasks, since } of rows) {
    const of = found.get(tenantId) ?? []
    of.push({ currency, tasks: Number(tasks), sinceMs: since.getTime() })
    found.set(tenantId, of)
  }
  return found
}

/** Money that is held for a task. */
export interface TaskHold {
  readonly sourceId: string
  readonly tenantId: string
  readonly currency: Currency
  /** Exact decimal. */
  readonly amount: string
  /** Unix milliseconds. */
  readonly placedAtMs: number
}

/** Holds of the tasks of a tenant, or of all tenants, the oldest first, with the number of all of them. */
export async function taskHolds(
  db: Queryable,
  of: {
    readonly tenantId: string | undefined
    readonly currency: string | undefined
    readonly limit: number
  },
): Promise<{ readonly holds: readonly TaskHold[]; readonly total: number }> {
  const { rows } = await db.query<
    Omit<TaskHold, 'placedAtMs'> & { readonly placed_at: Date; readonly total: number }
  >({
    name: 'ledger.holds.tasks',
    text: `select source_id as "sourceId", tenant_id as "tenantId", currency,
                  trim_scale(amount)::text as amount, placed_at, count(*) over ()::int as total
           from ledger.holds
           where state = 'placed' and ($1::text is null or tenant_id = $1)
             and ($2::text is null or currency = $2)
           order by placed_at, source_id limit $3`,
    values: [of.tenantId ?? null, of.currency ?? null, of.limit],
  })
  const holds = rows.map((row): TaskHold => {
    const { placed_at: placedAt, total: _total, ...hold } = row
    return { ...hold, placedAtMs: placedAt.getTime() }
  })
  return { holds, total: rows[0]?.total ?? 0 }
}

/** The ids of a tenant's tasks that hold money, the oldest first, and how many there are. */
export async function holdersOf(
  db: Queryable,
  tenantId: string,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  const { rows } = await db.query<{ source_id: string; total: string }>({
    name: 'ledger.holders',
    text: `select source_id, count(*) over () as total from ledger.holds
           where tenant_id = $1 and state = 'placed' order by placed_at, source_id limit $2`,
    values: [tenantId, limit],
  })
  return { ids: rows.map((row) => row.source_id), total: Number(rows[0]?.total ?? 0) }
}
