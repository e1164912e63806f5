import { readCheckpoint } from '../../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { accountStream } from '../../../domain/account/events.ts'
import type { BillingProfile } from '../../../domain/account/billing.ts'
import { settingIn } from '../../../domain/account/settings.ts'
import type { IssuerProfile } from '../../../domain/issuer/decider.ts'
import { statementDecider } from '../../../domain/statement/decider.ts'
import {
  type PeriodClosed,
  periodIdOf,
  type StatementEvent,
  statementStream,
} from '../../../domain/statement/events.ts'
import {
  type ClosedPeriod as StandingPeriod,
  monthAfter,
  nextPeriod,
  type NextPeriod,
  periodsIn,
  type StatementsState,
} from '../../../domain/statement/periods.ts'
import { readPages } from '../../../eventlog/log/pages.ts'
import { readOn } from '../../../eventlog/log/execute.ts'
import type { EventLog, RecordedEvent } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import type { Currency } from '../../../kernel/money.ts'
import { TimeZone } from '../../../kernel/time-zone.ts'
import { readAccountState } from '../../accounts/account-state.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import type { ClosingMonth } from './blockers.ts'
import { readIssuer } from './issuer.ts'
import type { MonthOf } from './types.ts'

/** An account as the log has it, with its closes and what the next one begins with. */

export interface AccountSources {
  readonly log: EventLog
  readonly db: Queryable
  readonly clock: Clock
}

export interface ClosingAccount {
  readonly profile: BillingProfile
  readonly zone: TimeZone
  readonly issuer: IssuerProfile | undefined
  readonly state: StatementsState
  /** Revision of the stream of the tenant's closes; undefined: it has none. */
  readonly revision: bigint | undefined
  /** Closes of the currency that stand, in order. */
  readonly standing: readonly StandingPeriod[]
  readonly next: NextPeriod
  /** A close as its event has it, by its period id; voided ones are among them. */
  readonly closes: ReadonlyMap<string, PeriodClosed>
}

/** @throws DomainError `tenant_not_found`; errors of the log */
export async function readClosingAccount(
  { log, db }: Pick<AccountSources, 'log' | 'db'>,
  { tenantId, currency }: { readonly tenantId: string; readonly currency: Currency },
): Promise<ClosingAccount> {
  const account = await readAccountState({ log, db }, tenantId)
  if (account.openedAt === undefined)
    throw new DomainError('tenant_not_found', 'The tenant does not exist', { tenantId })
  const profile = settingIn(account.settings, 'billing')
  const zone = zoneOf(profile)
  const closes = new Map<string, PeriodClosed>()
  const onEvent = (event: RecordedEvent): void => {
    if (event.type === 'PeriodClosed') closes.set(periodIdOf(event.data), event.data)
  }
  const stream = statementStream(tenantId)
  const { state, revision } = await readOn<StatementsState, StatementEvent>(
    log,
    stream,
    statementDecider,
    undefined,
    onEvent,
  )
  const { profiles } = await readIssuer(log)
  const first = firstMonth(zone, fromTimestamp(account.openedAt))
  return {
    profile,
    zone,
    issuer: profiles.at(-1),
    state,
    revision,
    standing: periodsIn(state, currency).standing,
    next: nextPeriod(state, currency, profile.numberPrefix, first),
    closes,
  }
}

/** The billing details of a revision, which a later one may have replaced. @throws errors of the log */
export async function readBillingAt(
  { log, db }: Pick<AccountSources, 'log' | 'db'>,
  tenantId: string,
  revision: number,
): Promise<BillingProfile> {
  const { settings } = await readAccountState({ log, db }, tenantId)
  const now = settingIn(settings, 'billing')
  if (now.revision === revision) return now
  for await (const { type, data } of readPages(log, accountStream(tenantId)))
    if (type === 'BillingProfileSet' && data.revision === revision) return data
  throw new Error(`${tenantId} has no billing details of revision ${revision}`)
}

/** The zone whose months are billed. */
export function zoneOf({ timeZone }: Pick<BillingProfile, 'timeZone'>): TimeZone {
  return TimeZone.named(timeZone)
}

/** The month of the zone in which a tenant was opened. */
export function firstMonth(
  zone: TimeZone,
  openedAtMs: number,
): Pick<PeriodClosed, 'month' | 'from'> {
  const { fromMs } = zone.monthAt(openedAtMs)
  return { month: monthIn(zone, openedAtMs), from: zone.secondAt(fromMs) }
}

/** The month of the zone, `YYYY-MM`, at a time in Unix milliseconds. */
export function monthIn(zone: TimeZone, unixMs: number): string {
  return zone.dayAt(unixMs).slice(0, 7)
}

/** When a month, `YYYY-MM`, ends in a zone: Unix milliseconds. */
export function endOf(zone: TimeZone, month: string): number {
  return zone.startOf(`${monthAfter(month)}-01`)
}

/** A month of an account with all that its blockers follow from. */
export function closingMonth(
  {
    profile,
    zone,
    next,
  }: Pick<ClosingAccount, 'zone'> & {
    readonly profile: ClosingMonth['profile']
    readonly next: Pick<NextPeriod, 'month'>
  },
  of: MonthOf,
): ClosingMonth {
  return { ...of, profile, zone, toMs: endOf(zone, of.month), next: next.month }
}

/** Waits for the ledger to have the log: its position, and whether it is still behind. */
export async function ledgerPosition({ log, db }: Pick<AccountSources, 'log' | 'db'>): Promise<{
  readonly asOf: bigint
  readonly isLedgerBehind: boolean
}> {
  let isLedgerBehind = false
  try {
    await requireCaughtUp({ db, log }, 'ledger')
  } catch (error) {
    if (!isDomainError(error, 'read_model_behind')) throw error
    isLedgerBehind = true
  }
  const checkpoint = await readCheckpoint(db, 'ledger')
  return { asOf: checkpoint?.position ?? -1n, isLedgerBehind }
}
