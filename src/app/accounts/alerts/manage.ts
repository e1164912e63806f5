import type { Queryable } from '../../../../projections/engine/queryable.ts'
import {
  type BalanceAlerts,
  balanceAlerts,
  type WantedBalanceAlerts as WantedTerms,
} from '../../../domain/account/balance-alerts.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { Currency } from '../../../kernel/money.ts'
import { checkPublicUrl, type ResolveHost } from '../../../kernel/public-url.ts'
import { readSettings } from '../account-facts.ts'
import { type AccessDeps, decideOnAccount } from '../bootstrap.ts'
import type { ManagedTenants } from '../managed-tenants.ts'
import { type ByToken, depsOf, type ManagementDeps, shown } from '../management.ts'
import type { Reach } from '../reach.ts'
import { webhookSecret } from './signature.ts'

/** A balance that is low, and how telling it stands; times are unix milliseconds. */
export interface LowBalance {
  readonly currency: Currency
  /** Decimal string: what was left when it was seen. */
  readonly balance: string
  readonly seenAtMs: number
  /** Of webhooks that were sent. */
  readonly tries: number
  readonly toldAtMs: number | undefined
  readonly givenUpAtMs: number | undefined
  /** Why the last try was not taken. */
  readonly lastFailure: string | undefined
}

export interface ShownBalanceAlerts extends BalanceAlerts {
  readonly tenantId: string
  /** What webhooks are signed with; undefined without one. */
  readonly webhookSecret: string | undefined
  readonly low: readonly LowBalance[]
}

/** What a tenant's alerts shall be: all of it. */
export interface WantedBalanceAlerts extends WantedTerms {
  readonly tenantId: string
  /** The revision that was looked at; undefined: nobody looked. */
  readonly basis?: number | undefined
}

/** Whoever administers a tenant sets its alerts; those of a tenant outside the reach read like those of none (P8). */
export interface ManagedBalanceAlerts {
  /** @throws DomainError `tenant_not_found` */
  readonly show: (reach: Reach, tenantId: string) => Promise<ShownBalanceAlerts>
  /** @throws DomainError `tenant_not_found`, `balance_alerts_invalid` also for a URL that is not public, those of the decider */
  readonly set: (
    reach: Reach,
    by: ByToken,
    wanted: WantedBalanceAlerts,
  ) => Promise<ShownBalanceAlerts & { readonly changed: boolean }>
}

/** What webhooks are checked by and signed with. */
export interface WebhookTerms {
  readonly markerSecret: string
  readonly resolveHost: ResolveHost
  /** Origins the operator named, whose addresses are not judged. */
  readonly trustedOrigins: readonly string[]
}

/** @throws the codes of the log and of the database */
export function createManagedBalanceAlerts(
  deps: ManagementDeps,
  terms: WebhookTerms,
  tenants: Pick<ManagedTenants, 'find'>,
): ManagedBalanceAlerts {
  const { log, db } = deps
  return {
    show: async (reach, tenantId) => {
      await tenants.find(reach, tenantId)
      return showBalanceAlerts(db, terms, tenantId, await readBalanceAlerts(log, tenantId))
    },
    set: async (reach, by, wanted) => {
      await tenants.find(reach, wanted.tenantId)
      const { changed, position, said } = await setBalanceAlerts(depsOf(deps, by), terms, wanted)
      await shown(deps, 'access', position)
      return { changed, ...(await showBalanceAlerts(db, terms, wanted.tenantId, said)) }
    },
  }
}

/** As the account has them now. */
export async function readBalanceAlerts(
  log: AccessDeps['log'],
  tenantId: string,
): Promise<BalanceAlerts> {
  return (await readSettings(log, tenantId)).balanceAlerts ?? balanceAlerts.none
}

/** With how they stand. */
export async function showBalanceAlerts(
  db: Queryable,
  { markerSecret }: Pick<WebhookTerms, 'markerSecret'>,
  tenantId: string,
  said: BalanceAlerts,
): Promise<ShownBalanceAlerts> {
  const { webhookUrl, secretVersion } = said
  return {
    ...said,
    tenantId,
    webhookSecret:
      webhookUrl === undefined ? undefined : webhookSecret(markerSecret, tenantId, secretVersion),
    low: await lowBalancesOf(db, tenantId),
  }
}

/** Sets all of a tenant's alerts; the same again changes nothing. @throws as `ManagedBalanceAlerts.set` */
export async function setBalanceAlerts(
  deps: AccessDeps,
  terms: Pick<WebhookTerms, 'resolveHost' | 'trustedOrigins'>,
  { tenantId, basis, ...wanted }: WantedBalanceAlerts,
): Promise<{
  readonly changed: boolean
  readonly position: bigint | undefined
  readonly said: BalanceAlerts
}> {
  const { webhookUrl } = wanted
  if (webhookUrl !== undefined) await requireReachable(terms, webhookUrl)
  const at = toTimestamp(deps.clock.nowMs())
  const command = { kind: 'set-setting', setting: 'balanceAlerts', at } as const
  const decided = await decideOnAccount(deps, { ...command, tenantId, wanted, basis })
  return {
    changed: decided.events.length > 0,
    position: decided.position,
    said: decided.state.settings.balanceAlerts ?? balanceAlerts.none,
  }
}

async function requireReachable(
  { resolveHost, trustedOrigins }: Pick<WebhookTerms, 'resolveHost' | 'trustedOrigins'>,
  url: string,
): Promise<void> {
  if (URL.canParse(url) && trustedOrigins.includes(new URL(url).origin)) return
  const verdict = await checkPublicUrl(url, resolveHost)
  if (verdict.ok) return
  const param = 'webhook_url'
  throw new DomainError('balance_alerts_invalid', `${param}: ${verdict.reason}`, { param })
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
