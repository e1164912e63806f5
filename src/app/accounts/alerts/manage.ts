import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { BalanceAlerts } from '../../../domain/account/balance-alerts.ts'
import { invalidSetting } from '../../../domain/account/setting.ts'
import type { Currency } from '../../../kernel/money.ts'
import { checkPublicUrl } from '../../../kernel/public-url.ts'
import { isTrustedTarget } from '../../../kernel/trusted-targets.ts'
import type { CheckDeps, ManagedSetting } from '../settings.ts'
import { webhookSecret } from './signature.ts'

/** A low balance and the state of its notification; times are unix milliseconds. */
interface LowBalance {
  readonly currency: Currency
  /** Decimal string: the balance when the worker found it. */
  readonly balance: string
  readonly seenAtMs: number
  /** Webhooks sent. */
  readonly tries: number
  /** Time at which the receiver accepted the webhook; commands print the member under this name. */
  readonly toldAtMs: number | undefined
  readonly givenUpAtMs: number | undefined
  /** Why the last try failed. */
  readonly lastFailure: string | undefined
}

export interface ShownBalanceAlerts extends BalanceAlerts {
  readonly tenantId: string
  /** The signing secret of webhooks; undefined without a webhook. */
  readonly webhookSecret: string | undefined
  readonly low: readonly LowBalance[]
}

/** The management API returns balance alerts with the balances that are low. */
export const managedBalanceAlerts: ManagedSetting<'balanceAlerts', ShownBalanceAlerts> = {
  name: 'balanceAlerts',
  check: async (deps, tenantId, { webhookUrl }) => {
    if (webhookUrl !== undefined) await requireReachable(deps, tenantId, webhookUrl)
    return []
  },
  prepare: async ({ db, markerSecret }, tenantId) => {
    const low = await lowBalancesOf(db, tenantId)
    return (alerts) => shownAlerts(markerSecret, tenantId, alerts, low)
  },
  readModel: 'access',
}

/** Reads the alerts with their state. */
export async function showBalanceAlerts(
  db: Queryable,
  markerSecret: string,
  tenantId: string,
  alerts: BalanceAlerts,
): Promise<ShownBalanceAlerts> {
  return shownAlerts(markerSecret, tenantId, alerts, await lowBalancesOf(db, tenantId))
}

function shownAlerts(
  markerSecret: string,
  tenantId: string,
  alerts: BalanceAlerts,
  low: readonly LowBalance[],
): ShownBalanceAlerts {
  const { webhookUrl, secretVersion } = alerts
  return {
    ...alerts,
    tenantId,
    webhookSecret:
      webhookUrl === undefined ? undefined : webhookSecret(markerSecret, tenantId, secretVersion),
    low,
  }
}

const refuse = invalidSetting('balance_alerts')

async function requireReachable(
  { resolveHost, trustedTargets }: Pick<CheckDeps, 'resolveHost' | 'trustedTargets'>,
  tenantId: string,
  url: string,
): Promise<void> {
  if (isTrustedTarget(trustedTargets, tenantId, url)) return
  const verdict = await checkPublicUrl(url, resolveHost)
  if (verdict.ok) return
  refuse('webhook_url', verdict.reason)
}

async function lowBalancesOf(db: Queryable, tenantId: string): Promise<readonly LowBalance[]> {
  const { rows } = await db.query<{
    currency: Currency
    balance: string
    seen_at: Date
    tries: number
    told_at: Date | null
    given_up_at: Date | null
    last_failure: string | null
  }>({
    name: 'low-balances-of',
    text: `select currency, trim_scale(balance)::text as balance, seen_at, tries, told_at, given_up_at,
                  last_failure
           from ops.low_balances where tenant_id = $1 order by currency`,
    values: [tenantId],
  })
  return rows.map((row) => ({
    currency: row.currency,
    balance: row.balance,
    seenAtMs: row.seen_at.getTime(),
    tries: row.tries,
    toldAtMs: row.told_at?.getTime(),
    givenUpAtMs: row.given_up_at?.getTime(),
    lastFailure: row.last_failure ?? undefined,
  }))
}
