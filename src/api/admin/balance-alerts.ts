import { Type } from 'typebox'
import { managedBalanceAlerts, type ShownBalanceAlerts } from '../../app/accounts/alerts/manage.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { currencies } from '../../kernel/money.ts'
import { changeMembers, settingRoutes } from './settings.ts'

const strict = { additionalProperties: false } as const
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Threshold = Type.Object(
  {
    currency: Type.Enum([...currencies]),
    below: Type.String({ maxLength: 40, description: 'Decimal string above zero.' }),
  },
  strict,
)

const AlertsBody = Type.Object(
  {
    thresholds: Type.Array(Threshold, { maxItems: currencies.length }),
    webhook_url: Type.Optional(
      Type.Union(
        [
          Type.String({ maxLength: 2_048, documented: { type: 'string', format: 'uri' } }),
          Type.Null(),
        ],
        {
          description:
            'An `https://` URL whose host is publicly routable; absent or null: no webhook.',
        },
      ),
    ),
    rotate_secret: Type.Optional(
      Type.Boolean({
        description:
          'Create a new signing secret; deliveries are signed with the previous one as well.',
      }),
    ),
    ...changeMembers,
  },
  { ...strict, examples: [{ thresholds: [{ currency: 'CNY', below: '10' }] }] },
)

const members = {
  thresholds: Type.Array(
    Type.Object({ currency: Type.String(), below: Type.String() }, { named: 'AlertThreshold' }),
  ),
  webhook_url: orNull('null: no webhook.'),
  webhook_secret: orNull(
    'Secret that signs the deliveries (Standard Webhooks); null without a URL.',
  ),
  low: Type.Array(
    Type.Object(
      {
        currency: Type.String(),
        balance: Type.String({ description: 'Balance when the gateway found it low.' }),
        since: Type.String({ format: 'date-time', description: 'RFC 3339.' }),
        tries: Type.Integer({ description: 'Attempts to deliver the notification.' }),
        told_at: orNull('When the notification was delivered; null: not yet, or never.'),
        given_up_at: orNull(
          'When the gateway stopped trying; null: it was delivered, or is tried again.',
        ),
        last_failure: orNull('Why the last attempt failed.'),
      },
      { named: 'LowBalance' },
    ),
    {
      description:
        'Balances that are below their threshold now, and the delivery of each notification.',
    },
  ),
}

/** Routes of the balance alerts of a tenant. */
export const balanceAlertRoutes = settingRoutes({
  setting: managedBalanceAlerts,
  path: 'balance-alerts',
  operation: 'BalanceAlerts',
  get: {
    summary: 'Get the balance alerts of a tenant, its webhook, and its low balances',
  },
  put: {
    summary: 'Set the balance alerts of a tenant and its webhook',
    body: AlertsBody,
    failures: ['amount_invalid'],
  },
  members,
  read: ({ thresholds, webhook_url: url, rotate_secret: rotateSecret = false }) => ({
    thresholds,
    webhookUrl: url ?? undefined,
    rotateSecret,
  }),
  toBody: toAlerts,
})

const timeOf = (unixMs: number | undefined): string | null =>
  unixMs === undefined ? null : toTimestamp(unixMs)

function toAlerts(alerts: ShownBalanceAlerts) {
  return {
    thresholds: alerts.thresholds.map(({ currency, below }) => ({ currency, below })),
    webhook_url: alerts.webhookUrl ?? null,
    webhook_secret: alerts.webhookSecret ?? null,
    low: alerts.low.map((one) => ({
      currency: one.currency,
      balance: one.balance,
      since: toTimestamp(one.seenAtMs),
      tries: one.tries,
      told_at: timeOf(one.toldAtMs),
      given_up_at: timeOf(one.givenUpAtMs),
      last_failure: one.lastFailure ?? null,
    })),
  }
}
