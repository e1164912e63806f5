import {
  type Cells,
  creditCell,
  lineCell,
  refundCell,
} from '../../../../projections/ledger/query.ts'
import { type AccountHistory, termsAt } from '../../../app/accounts/account-history.ts'
import { fromTimestamp, wholeSecond } from '../../../kernel/clock.ts'
import type { TimeZone } from '../../../kernel/time-zone.ts'
import type { LedgerFilter } from '../reads.ts'
import type { FocusMonth } from './columns.ts'
import { grantRows, negated, purchaseCells, refundRows } from './credits.ts'
import { usageCells } from './usage.ts'

/** A FOCUS file names the gateway, and treats each tenant by its terms. */
export interface Billing {
  /** Name of the gateway, which provides the services and bills them. */
  readonly issuer: string
  /**
   * Waits until the price books that were published up to a position can be read: list prices of its lines are in
   * them. @throws DomainError `read_model_behind`
   */
  readonly requirePrices: (asOf: bigint) => Promise<void>
  /** A tenant's account up to a position of the log. @throws errors of the log */
  readonly accountAt: (tenantId: string, asOf: bigint) => Promise<AccountHistory>
  /** Reads the balance of a tenant at a position, in each of its currencies; a debt is negative. */
  readonly balancesAt: (
    tenantId: string,
    asOf: bigint,
  ) => Promise<readonly { readonly currency: string; readonly amount: string }[]>
  /** The tenants that have money in the ledger. */
  readonly tenants: () => AsyncIterable<string>
}

export interface FocusTerms extends Billing {
  /** Billing months are those of this zone. */
  readonly zone: TimeZone
}

/** The pages of the ledger that a file is made of. */
interface FocusPages {
  readonly lines: AsyncIterable<readonly Cells[]>
  readonly refunds: AsyncIterable<readonly Cells[]>
  /** Undefined where the file has some of a tenant's lines only: its balance is not theirs. */
  readonly credits: AsyncIterable<readonly Cells[]> | undefined
}

/** The lines, time and position that a file is made for. */
type FocusFilter = Pick<LedgerFilter, 'tenantId' | 'currency' | 'fromMs' | 'toMs' | 'since'> & {
  readonly asOf: bigint
}

/** Accounts that a file remembers; all of them where there are no more. */
const MAX_KNOWN_ACCOUNTS = 10_000

/** Digits of a time up to its second. */
const SECONDS = 19

/** Finds the accounts of rows, each as of the position of the file. */
function createAccounts({ accountAt }: FocusTerms, asOf: bigint) {
  const known = new Map<string, AccountHistory>()
  return async (tenantId: string): Promise<AccountHistory> => {
    const account = known.get(tenantId) ?? (await accountAt(tenantId, asOf))
    if (known.size < MAX_KNOWN_ACCOUNTS) known.set(tenantId, account)
    return account
  }
}

/** A month with the whole history of its tenant. */
interface KnownMonth extends FocusMonth {
  readonly account: AccountHistory
}

/** Finds the months of rows; rows in turn are mostly of the same tenant and month. */
function createMonths(
  { issuer, zone }: FocusTerms,
  accountOf: (tenantId: string) => Promise<AccountHistory>,
) {
  let last: { readonly tenantId: string; readonly month: KnownMonth } | undefined
  /** The month of the row before, where this one is of it too. */
  const current = (tenantId: string, time: string): KnownMonth | undefined => {
    const second = time.slice(0, SECONDS)
    if (last?.tenantId !== tenantId) return undefined
    const { start, end } = last.month
    const isInside = start.slice(0, SECONDS) <= second && second < end.slice(0, SECONDS)
    return isInside ? last.month : undefined
  }
  const find = async (tenantId: string, time: string): Promise<KnownMonth> => {
    const { fromMs, toMs } = zone.monthAt(fromTimestamp(time))
    const account = await accountOf(tenantId)
    const [start, end] = [wholeSecond(fromMs), wholeSecond(toMs)]
    const terms = termsAt(account, 0n)
    const month = { start, end, statement: null, issuer, account, terms }
    last = { tenantId, month }
    return month
  }
  return { current, find }
}

/** The month of a row with the terms at the position of the row: a later change of terms does not touch it. */
function asOfRow(month: KnownMonth, position: string | null | undefined): FocusMonth {
  if (month.account.termsChanges.length === 0) return month
  return { ...month, terms: termsAt(month.account, BigInt(position ?? '0')) }
}

/** Where the cells of a balance that new terms took over are. */
const carriedCell = { tenant_id: 0, at: 1, position: 2, currency: 3, amount: 4, terms: 5 } as const

/**
 * The balances that tenants had when their terms changed. Prepaid credit that is left pays usage that is billed from
 * then on, so it is taken out of what was billed; a balance that becomes prepaid is put in.
 */
async function* carriedBalances(
  { tenantId, currency, fromMs = 0, toMs = Number.POSITIVE_INFINITY, since = -1n }: FocusFilter,
  { balancesAt, tenants }: FocusTerms,
  accountOf: (tenantId: string) => Promise<AccountHistory>,
): AsyncGenerator<readonly Cells[]> {
  for await (const tenant of tenantId === undefined ? tenants() : [tenantId]) {
    const { termsChanges } = await accountOf(tenant)
    const rows: Cells[] = []
    for (const { position, at, terms } of termsChanges.toReversed()) {
      const atMs = fromTimestamp(at)
      if (position <= since || atMs < fromMs || atMs >= toMs) continue
      for (const { currency: of, amount } of await balancesAt(tenant, position)) {
        if (amount === '0' || (currency !== undefined && of !== currency)) continue
        const carried = terms === 'prepaid' ? amount : negated(amount)
        rows.push([tenant, at, String(position), of, carried, terms])
      }
    }
    yield rows
  }
}

function carriedRows(carried: Cells, month: FocusMonth): readonly Cells[] {
  const of = (at: number): string => carried[at] ?? ''
  const credit = {
    tenantId: of(carriedCell.tenant_id),
    currency: of(carriedCell.currency),
    amount: of(carriedCell.amount),
    at: of(carriedCell.at),
    description: `balance at the change to ${of(carriedCell.terms)} terms`,
  }
  return [purchaseCells(credit, month)]
}

/**
 * The rows of a FOCUS file: usage, its refunds, the credit that was granted, and the balances that new
 * terms took over, each newest first.
 */
export async function* focusRows(
  { lines, refunds, credits }: FocusPages,
  filter: FocusFilter,
  terms: FocusTerms,
): AsyncGenerator<readonly Cells[]> {
  await terms.requirePrices(filter.asOf)
  const accountOf = createAccounts(terms, filter.asOf)
  const months = createMonths(terms, accountOf)
  async function* written(
    pages: AsyncIterable<readonly Cells[]>,
    [tenantAt, timeAt, positionAt]: readonly [tenantAt: number, timeAt: number, positionAt: number],
    write: (row: Cells, month: FocusMonth) => readonly Cells[],
  ): AsyncGenerator<readonly Cells[]> {
    for await (const page of pages) {
      const rows: Cells[] = []
      for (const row of page) {
        const tenantId = row[tenantAt] ?? ''
        const time = row[timeAt] ?? ''
        const month = months.current(tenantId, time) ?? (await months.find(tenantId, time))
        rows.push(...write(row, asOfRow(month, row[positionAt])))
      }
      yield rows
    }
  }
  yield* written(
    lines,
    [lineCell.tenant_id, lineCell.settled_at, lineCell.position],
    (line, month) => [usageCells(line, month)],
  )
  yield* written(
    refunds,
    [refundCell.tenant_id, refundCell.posted_at, refundCell.posted_position],
    refundRows,
  )
  if (credits === undefined) return
  yield* written(
    credits,
    [creditCell.tenant_id, creditCell.posted_at, creditCell.position],
    grantRows,
  )
  yield* written(
    carriedBalances(filter, terms, accountOf),
    [carriedCell.tenant_id, carriedCell.at, carriedCell.position],
    carriedRows,
  )
}
