import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ManagedBalanceAlerts, ShownBalanceAlerts } from '../../app/accounts/alerts/manage.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { currencies } from '../../kernel/money.ts'
import { byToken, success, successOf } from '../kit/account-surface.ts'
import { changeFailures, readFailures } from '../kit/route-failures.ts'
import { describe } from './documentation.ts'
import { reachOf } from './reach.ts'
import { TenantParamsSchema } from './schemas.ts'

const PATH = '/tenants/:tenant_id/balance-alerts'

const strict = { additionalProperties: false } as const
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Threshold = Type.Object(
  {
    currency: Type.Enum([...currencies]),
    below: Type.String({ maxLength: 40, description: 'Decimal string, more than nothing.' }),
  },
  strict,
)

const AlertsBody = Type.Object(
  {
    thresholds: Type.Array(Threshold, { maxItems: currencies.length }),
    webhook_url: Type.Optional(
      Type.Union([Type.String({ maxLength: 2_048 }), Type.Null()], {
        description: '`https://`, its host publicly routable; absent or null: none.',
      }),
    ),
    rotate_secret: Type.Optional(
      Type.Boolean({ description: 'Sign with another secret, and with the one before as well.' }),
    ),
    expected_revision: Type.Optional(
      Type.Integer({ minimum: 0, description: 'That was looked at, 0 for none.' }),
    ),
  },
  strict,
)

const shown = {
  object: Type.Literal('balance_alerts'),
  tenant_id: Type.String(),
  revision: Type.Integer({ description: '0: none were ever set.' }),
  thresholds: Type.Array(Type.Object({ currency: Type.String(), below: Type.String() })),
  webhook_url: orNull('null: nothing is sent.'),
  webhook_secret: orNull('What is sent is signed with it (Standard Webhooks); null without a URL.'),
  low: Type.Array(
    Type.Object({
      currency: Type.String(),
      balance: Type.String({ description: 'What was left when it was seen.' }),
      since: Type.String({ description: 'RFC 3339.' }),
      tries: Type.Integer({ description: 'Of sending it.' }),
      told_at: orNull('null: not yet, or never.'),
      given_up_at: orNull('null: it was told, or will be tried again.'),
      last_failure: orNull('Why the last try was not taken.'),
    }),
    { description: 'Balances that are low now, and whether that was told.' },
  ),
}

/** When a tenant is told that its balance is low. */
export function balanceAlertRoutes(instance: FastifyInstance, alerts: ManagedBalanceAlerts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describe({
    operationId: 'getBalanceAlerts',
    summary: 'Below what balances of a tenant count as low, where that is told, and which are',
    ok: successOf(Type.Object(shown)),
    failures: [...readFailures, 'tenant_not_found'],
  })
  app.get(PATH, {
    schema: { ...get, params: TenantParamsSchema },
    handler: async (request) =>
      success(toAlerts(await alerts.show(reachOf(request), request.params.tenant_id))),
  })
  const put = describe({
    operationId: 'setBalanceAlerts',
    summary: 'Set when a tenant is told that its balance is low, and where',
    ok: successOf(Type.Object({ ...shown, changed: Type.Boolean() })),
    failures: [
      ...changeFailures,
      'body_empty',
      'tenant_not_found',
      'amount_invalid',
      'balance_alerts_invalid',
      'balance_alerts_changed',
    ],
  })
  app.put(PATH, {
    schema: { ...put, params: TenantParamsSchema, body: AlertsBody },
    handler: async (request) => {
      const { thresholds, webhook_url: url, rotate_secret, expected_revision } = request.body
      const { changed, ...set } = await alerts.set(reachOf(request), byToken(request), {
        tenantId: request.params.tenant_id,
        thresholds,
        webhookUrl: url ?? undefined,
        rotateSecret: rotate_secret ?? false,
        basis: expected_revision,
      })
      return success({ ...toAlerts(set), changed })
    },
  })
}

const timeOf = (unixMs: number | undefined): string | null =>
  unixMs === undefined ? null : toTimestamp(unixMs)

function toAlerts(alerts: ShownBalanceAlerts) {
  return {
    object: 'balance_alerts' as const,
    tenant_id: alerts.tenantId,
    revision: alerts.revision,
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
