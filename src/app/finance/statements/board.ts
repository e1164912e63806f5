import { listAccounts, type LedgerAccount } from '../../../../projections/ledger/query.ts'
import {
  listPeriods,
  type PeriodRow,
  periodsOfMonth,
} from '../../../../projections/statements/query.ts'
import { settingIn } from '../../../domain/account/settings.ts'
import { monthAfter } from '../../../domain/statement/periods.ts'
import type { Currency } from '../../../kernel/money.ts'
import { accountKey, blockersOf, type ClosingFacts, readClosingFacts } from './blockers.ts'
import type { PreviewDeps } from './preview.ts'
import { closingMonth, ledgerPosition, monthIn, zoneOf } from './closing-account.ts'
import { readIssuer } from './issuer.ts'
import type { BoardRow, MonthOf } from './types.ts'

/** Months of many accounts, and of one, with what keeps the open ones from being closed. */

/** Months of one account that are open and shown: those of ten years. */
const MAX_OPEN_MONTHS = 120

/** Details of a tenant that has not set any. */
const NO_BILLING = settingIn({}, 'billing')

function closedRow({ closed, state }: PeriodRow): BoardRow {
  const { tenantId, currency, month } = closed
  const isVoidProposed = state === 'void_proposed'
  return { tenantId, currency, month, status: 'closed', period: closed, isVoidProposed }
}

type OpenRow = Extract<BoardRow, { readonly status: 'open' }>

/** An open month, with all that blocks it. */
export function openRow(account: LedgerAccount, month: string, facts: ClosingFacts): OpenRow {
  const { tenantId, currency, billing, lastMonth } = account
  const profile = billing ?? NO_BILLING
  const zone = zoneOf(profile)
  const next = lastMonth === null ? openingMonth(account) : monthAfter(lastMonth)
  const of = { tenantId, currency, month }
  const closing = closingMonth({ profile, zone, next: { month: next } }, of)
  return { ...of, status: 'open', blockers: blockersOf(closing, facts) }
}

/** Everything that blockers of these tenants, or of all, follow from. */
export async function factsNow(
  deps: PreviewDeps,
  tenantIds: readonly string[] | undefined,
): Promise<ClosingFacts> {
  const { db, log, clock, issuerName } = deps
  const { profiles } = await readIssuer(log)
  const { isLedgerBehind } = await ledgerPosition(deps)
  const isIssuerKnown = issuerName !== undefined && profiles.length > 0
  return readClosingFacts(db, { tenantIds, nowMs: clock.nowMs(), isLedgerBehind, isIssuerKnown })
}

interface BoardOf {
  readonly month: string
  readonly tenantIds: readonly string[] | undefined
  readonly currency?: Currency | undefined
}

/** One month of all accounts of these tenants, or of every tenant; accounts that began later are left out. */
export async function boardOf(deps: PreviewDeps, of: BoardOf): Promise<readonly BoardRow[]> {
  return boardRows(deps, of, await factsNow(deps, of.tenantIds))
}

/** Rows of a board by facts that were read before. */
export async function boardRows(
  { db }: Pick<PreviewDeps, 'db'>,
  { month, tenantIds, currency }: BoardOf,
  facts: ClosingFacts,
): Promise<readonly BoardRow[]> {
  const [closed, accounts] = await Promise.all([
    periodsOfMonth(db, { month, tenantIds }),
    listAccounts(db, { tenantIds, currency }),
  ])
  const closes = new Map(closed.map((row) => [accountKey(row.closed), row]))
  return accounts.flatMap((account) => {
    const row = closes.get(accountKey(account))
    if (row !== undefined) return [closedRow(row)]
    return month < openingMonth(account) ? [] : [openRow(account, month, facts)]
  })
}

/** The first month of an account. */
export function openingMonth({
  openedAtMs,
  billing,
}: Pick<LedgerAccount, 'openedAtMs' | 'billing'>): string {
  return monthIn(zoneOf(billing ?? NO_BILLING), openedAtMs)
}

/** One account month by month, oldest first, up to the month that runs. */
export async function monthsOf(
  deps: PreviewDeps,
  { tenantId, currency }: Omit<MonthOf, 'month'>,
): Promise<readonly BoardRow[]> {
  const { db, clock } = deps
  const facts = await factsNow(deps, [tenantId])
  const periods = await listPeriods(db, { tenantId, currency })
  const closed = periods.filter(({ state }) => state !== 'voided').map(closedRow)
  const [account] = await listAccounts(db, { tenantIds: [tenantId], currency })
  if (account === undefined) return closed
  const zone = zoneOf(account.billing ?? NO_BILLING)
  const running = monthIn(zone, clock.nowMs())
  const last = closed.at(-1)
  const open: BoardRow[] = []
  let month = last === undefined ? openingMonth(account) : monthAfter(last.month)
  for (; month <= running && open.length < MAX_OPEN_MONTHS; month = monthAfter(month))
    open.push(openRow(account, month, facts))
  return [...closed, ...open]
}
