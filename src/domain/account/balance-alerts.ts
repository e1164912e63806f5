import { DomainError } from '../../kernel/errors.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { canonicalAmount } from './amount.ts'
import type { AccountEvent, AccountEventData } from './events.ts'

/** Below how much a balance counts as low. */
export interface BalanceThreshold {
  readonly currency: Currency
  /** Decimal string, positive. */
  readonly below: string
}

/** When a tenant is told that its balance is low, and where. */
export interface BalanceAlerts {
  readonly revision: number
  /** One of a currency at most. */
  readonly thresholds: readonly BalanceThreshold[]
  /** Absent: it is said in the log and the metrics alone. */
  readonly webhookUrl?: string | undefined
  /** Which of its secrets webhooks are signed with, counted from 1. */
  readonly secretVersion: number
}

/** What they shall be from now on: all of it, not a change of some. */
export interface SetBalanceAlerts {
  readonly kind: 'set-balance-alerts'
  readonly tenantId: string
  readonly thresholds: readonly BalanceThreshold[]
  readonly webhookUrl: string | undefined
  /** Signs with another secret from now on. */
  readonly rotateSecret: boolean
  /** The revision that was looked at, 0 for none; absent: nobody looked. */
  readonly basis?: number | undefined
  /** RFC 3339. */
  readonly at: string
}

/** Before any were set. */
export const noBalanceAlerts: BalanceAlerts = { revision: 0, thresholds: [], secretVersion: 1 }

/** The alerts that an event sets. */
export function balanceAlertsOf(data: AccountEventData<'BalanceAlertsSet'>): BalanceAlerts {
  const { revision, thresholds, webhookUrl, secretVersion } = data
  return {
    revision,
    thresholds,
    secretVersion,
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
  }
}

/**
 * Setting the same again decides to no event.
 *
 * @throws DomainError `amount_invalid`, `balance_alerts_invalid`, `balance_alerts_changed` when they were set since
 *   it was looked at
 */
export function setBalanceAlerts(
  { tenantId, thresholds, webhookUrl, rotateSecret, basis, at }: SetBalanceAlerts,
  current: BalanceAlerts = noBalanceAlerts,
): readonly AccountEvent[] {
  const { revision } = current
  const next = thresholds.map(({ currency, below }, index) => {
    const amount = canonicalAmount(below)
    if (parseAmount(amount) <= 0n) refuse(`thresholds/${index}/below`, 'must be more than nothing')
    return { currency, below: amount }
  })
  const currencies = next.map(({ currency }) => currency)
  const twice = currencies.find((one, index) => currencies.indexOf(one) !== index)
  if (twice !== undefined) refuse('thresholds', `two of ${twice}`)
  // Also of a basis that is past: whoever sends it again has not seen the answer.
  if (!rotateSecret && webhookUrl === current.webhookUrl && isSame(next, current.thresholds))
    return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'balance_alerts_changed',
      `the balance alerts of this tenant were set in the meantime, to revision ${revision}: look at them again`,
      { tenantId, revision },
    )
  const data = {
    tenantId,
    revision: revision + 1,
    thresholds: next,
    secretVersion: current.secretVersion + (rotateSecret ? 1 : 0),
    setAt: at,
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
  }
  return [{ type: 'BalanceAlertsSet', data }]
}

function isSame(a: readonly BalanceThreshold[], b: readonly BalanceThreshold[]): boolean {
  const said = (all: readonly BalanceThreshold[]): string =>
    all
      .map(({ currency, below }) => `${currency} ${below}`)
      .sort()
      .join()
  return said(a) === said(b)
}

function refuse(param: string, message: string): never {
  throw new DomainError('balance_alerts_invalid', `${param}: ${message}`, { param })
}
