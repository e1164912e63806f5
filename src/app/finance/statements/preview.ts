import type { PeriodClosed } from '../../../domain/statement/events.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { blockersOf, readClosingFacts } from './blockers.ts'
import {
  type AccountSources,
  type ClosingAccount,
  closingMonth,
  ledgerPosition,
  readClosingAccount,
} from './closing-account.ts'
import { figuresOf } from './figures.ts'
import type { PeriodBounds } from './leaves.ts'
import type { Blocker, MonthOf, PeriodOf } from './types.ts'

/** An open month as it would be closed now. */

export interface PreviewDeps extends AccountSources {
  /** The name by which statements are signed; undefined: there is none, and no month is closed. */
  readonly issuerName: string | undefined
}

/** A month without what makes it a close. */
export type Previewed = Omit<
  PeriodClosed,
  'profile' | 'issuer' | 'root' | 'checkpoint' | 'despite' | 'by' | 'closedAt'
>

export interface Preview {
  readonly period: Previewed
  readonly bounds: PeriodBounds
}

/** The next month of an account with its figures as of a position. */
export async function figuresAt(
  { db }: Pick<PreviewDeps, 'db'>,
  account: ClosingAccount,
  of: MonthOf,
  asOf: bigint,
): Promise<Preview> {
  const { zone, next, standing, profile } = account
  const { tenantId, currency } = of
  const { toMs } = closingMonth(account, of)
  const fromMs = fromTimestamp(next.from)
  const bounded = { tenantId, currency, fromMs, toMs, asOf, standing }
  const { figures, bounds } = await figuresOf(db, bounded)
  const named = { tenantId, currency, timeZone: profile.timeZone, to: zone.secondAt(toMs) }
  return { period: { ...figures, ...next, ...named, position: String(asOf) }, bounds }
}

/** Reads the position of the ledger, and every blocker that keeps a month from being closed there. */
export async function blockersNow(
  deps: PreviewDeps,
  account: ClosingAccount,
  of: MonthOf,
): Promise<{ readonly asOf: bigint; readonly blockers: readonly Blocker[] }> {
  const { asOf, isLedgerBehind } = await ledgerPosition(deps)
  const facts = await readClosingFacts(deps.db, {
    tenantIds: [of.tenantId],
    nowMs: deps.clock.nowMs(),
    isLedgerBehind,
    isIssuerKnown: account.issuer !== undefined && deps.issuerName !== undefined,
  })
  return { asOf, blockers: blockersOf(closingMonth(account, of), facts) }
}

/** An open month with its figures and blockers. @throws DomainError `tenant_not_found`, `period_not_next` */
export async function previewMonth(
  deps: PreviewDeps,
  of: MonthOf,
): Promise<{ readonly period: PeriodOf; readonly blockers: readonly Blocker[] }> {
  const account = await readClosingAccount(deps, of)
  requireNext(account, of)
  const { asOf, blockers } = await blockersNow(deps, account, of)
  return { period: await periodAt(deps, account, of, asOf), blockers }
}

/** The figures of an open month. @throws DomainError `tenant_not_found`, `period_not_next` */
export async function openPeriod(deps: PreviewDeps, of: MonthOf): Promise<PeriodOf> {
  const account = await readClosingAccount(deps, of)
  requireNext(account, of)
  const { asOf } = await ledgerPosition(deps)
  return periodAt(deps, account, of, asOf)
}

async function periodAt(
  deps: PreviewDeps,
  account: ClosingAccount,
  of: MonthOf,
  asOf: bigint,
): Promise<PeriodOf> {
  const { period } = await figuresAt(deps, account, of, asOf)
  const { profile, issuer } = account
  return { ...period, profile: profile.revision, issuer: issuer?.revision ?? 0 }
}

/** @throws DomainError `period_not_next` */
export function requireNext({ next }: ClosingAccount, { month, currency }: MonthOf): void {
  if (month === next.month) return
  throw new DomainError(
    'period_not_next',
    `${next.month} comes next in ${currency}: months are closed in their order`,
    { month, next: next.month },
  )
}
