import { type Currency, parseAmount } from '../../kernel/money.ts'
import { canonicalAmount } from './amount.ts'
import type { AccountEventData } from './events.ts'
import { type AccountSetting, invalidSetting, repeated, unordered } from './setting.ts'

/** Below how much a balance counts as low. */
export interface BalanceThreshold {
  readonly currency: Currency
  /** Decimal string, positive. */
  readonly below: string
}

/** When a tenant is notified that its balance is low, and where. */
export interface BalanceAlerts {
  readonly revision: number
  /** One of a currency at most. */
  readonly thresholds: readonly BalanceThreshold[]
  /** Absent: only the log and the metrics say it. */
  readonly webhookUrl?: string | undefined
  /** Which of its secrets webhooks are signed with, counted from 1. */
  readonly secretVersion: number
}

/** The balance alerts a tenant shall have: all of them. */
export interface WantedBalanceAlerts {
  readonly thresholds: readonly BalanceThreshold[]
  readonly webhookUrl: string | undefined
  /** Signs with another secret from now on. */
  readonly rotateSecret: boolean
}

const refuse: (param: string, message: string) => never = invalidSetting('balance_alerts')

export const balanceAlerts: AccountSetting<
  BalanceAlerts,
  WantedBalanceAlerts,
  Pick<AccountEventData<'BalanceAlertsSet'>, 'thresholds' | 'webhookUrl' | 'secretVersion'>
> = {
  code: 'balance_alerts',
  title: 'balance alerts',
  none: { revision: 0, thresholds: [], secretVersion: 1 },
  read: (event) => {
    if (event.type !== 'BalanceAlertsSet') return undefined
    const { revision, thresholds, webhookUrl, secretVersion } = event.data
    return { revision, thresholds, secretVersion, ...urlOf(webhookUrl) }
  },
  event: (data) => ({ type: 'BalanceAlertsSet', data }),
  canonical: ({ thresholds, webhookUrl, rotateSecret }, { secretVersion }) => {
    const next = thresholds.map(({ currency, below }, index) => {
      const amount = canonicalAmount(below)
      if (parseAmount(amount) <= 0n)
        refuse(`thresholds/${index}/below`, 'must be more than nothing')
      return { currency, below: amount }
    })
    const twice = repeated(next.map(({ currency }) => currency))
    if (twice !== undefined) refuse('thresholds', `two of ${twice}`)
    return {
      thresholds: next,
      secretVersion: secretVersion + (rotateSecret ? 1 : 0),
      ...urlOf(webhookUrl),
    }
  },
  fingerprint: ({ thresholds, webhookUrl, secretVersion }) =>
    unordered([
      ...thresholds.map(({ currency, below }) => `${currency} ${below}`),
      `url ${webhookUrl ?? ''}`,
      `secret ${secretVersion}`,
    ]),
}

function urlOf(webhookUrl: string | undefined): { readonly webhookUrl?: string } {
  return webhookUrl === undefined ? {} : { webhookUrl }
}
