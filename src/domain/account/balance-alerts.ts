import { type Static, Type } from '@sinclair/typebox'
import { parseAmount } from '../../kernel/money.ts'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'
import { canonicalAmount } from './amount.ts'
import {
  accountSetting,
  invalidSetting,
  repeated,
  type SettingValue,
  unordered,
} from './setting.ts'

/** Below how much, a positive amount, a balance counts as low. */
const BalanceThresholdSchema = Type.Object({ currency: CurrencySchema, below: DecimalSchema })

export type BalanceThreshold = Static<typeof BalanceThresholdSchema>
/** Thresholds of low balances and the webhook that is notified. */
export type BalanceAlerts = SettingValue<typeof balanceAlerts>

/** The balance alerts a tenant shall have: all of them. */
export interface WantedBalanceAlerts {
  readonly thresholds: readonly BalanceThreshold[]
  readonly webhookUrl: string | undefined
  /** Signs with another secret from now on. */
  readonly rotateSecret: boolean
}

const refuse: (param: string, message: string) => never = invalidSetting('balance_alerts')

export const balanceAlerts = accountSetting({
  code: 'balance_alerts',
  title: 'balance alerts',
  type: 'BalanceAlertsSet',
  takesReason: true,
  terms: {
    /** At most one per currency. */
    thresholds: Type.Array(BalanceThresholdSchema),
    /** Absent: only the log and the metrics report a low balance. */
    webhookUrl: Type.Optional(Type.String()),
    /**
     * Number of the secret that signs webhooks, counted from 1; the secrets are derived from it and
     * not stored (P7).
     */
    secretVersion: Type.Integer({ minimum: 1 }),
  },
  none: { thresholds: [], secretVersion: 1 },
  canonical: ({ thresholds, webhookUrl, rotateSecret }: WantedBalanceAlerts, { secretVersion }) => {
    const next = thresholds.map(({ currency, below }, index) => {
      const amount = canonicalAmount(below)
      if (parseAmount(amount) <= 0n) refuse(`thresholds[${index}].below`, 'must be above zero')
      return { currency, below: amount }
    })
    const twice = repeated(next.map(({ currency }) => currency))
    if (twice !== undefined) refuse('thresholds', `two of ${twice}`)
    return {
      thresholds: next,
      secretVersion: secretVersion + (rotateSecret ? 1 : 0),
      ...(webhookUrl === undefined ? {} : { webhookUrl }),
    }
  },
  fingerprint: ({ thresholds, webhookUrl, secretVersion }) =>
    unordered([
      ...thresholds.map(({ currency, below }) => `${currency} ${below}`),
      `url ${webhookUrl ?? ''}`,
      `secret ${secretVersion}`,
    ]),
  words: ({ revision, thresholds, webhookUrl }) =>
    thresholds.length === 0
      ? `none (${revision})`
      : `below ${thresholds.map(({ currency, below }) => `${below} ${currency}`).join(', ')}${
          webhookUrl === undefined ? '' : ` to ${webhookUrl}`
        } (${revision})`,
})
