import { hasWebhookSql, type Webhook, webhooksOf } from '../../../../projections/access/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { Currency } from '../../../kernel/money.ts'
import { FetchFault, type PostPublic } from '../../../kernel/public-fetch.ts'
import { signedHeaders, webhookSecret } from './signature.ts'
import type { Migrations } from '../../../storage/postgres/migrate.ts'

/** For one try, from resolving the host to the status. */
const TRY_TIMEOUT_MS = 10_000
/** Waits between tries: doubled up to the longest. */
const FIRST_WAIT_S = 10
const LONGEST_WAIT_S = 3_600
/** Older alerts are not sent. */
const GIVE_UP_AFTER_S = 86_400
/** Most alerts sent in parallel, of which one of each tenant: so none waits for a slow receiver. */
const MAX_AT_ONCE = 64

interface WebhookDeps {
  readonly pool: Queryable
  readonly post: PostPublic
  readonly markerSecret: string
  readonly nowMs: () => number
  /** Called after each try; `reason` says in our words why it failed. */
  readonly onOutcome: (
    tenantId: string,
    outcome: WebhookOutcome,
    reason: string | undefined,
  ) => void
}

/** The metric names outcomes so; `delivered`: the receiver accepted it. */
export const webhookOutcomes = ['delivered', 'failed', 'given_up'] as const

type WebhookOutcome = (typeof webhookOutcomes)[number]

/** A low balance that its tenant is to be alerted of. */
interface Due {
  readonly tenant_id: string
  readonly currency: Currency
  readonly alert_id: string
  readonly below: string
  readonly balance: string
  readonly seen_at: Date
}

interface WebhookDelivery {
  /**
   * Begins to send what is due, once each; returns whether more may be due than had room. If the
   * process dies between sending and recording, the alert is sent again under the same id.
   * @throws what a try since the last call could not record
   */
  readonly begin: (signal: AbortSignal) => Promise<boolean>
  /** Waits for running deliveries. */
  readonly settled: () => Promise<void>
}

export function createWebhookDelivery(deps: WebhookDeps): WebhookDelivery {
  /** Running deliveries by tenant. */
  const sending = new Map<string, Promise<void>>()
  let unrecorded: { readonly error: unknown } | undefined
  const start = (due: Due, webhook: Webhook, signal: AbortSignal): void => {
    const done = deliver(deps, due, webhook, signal)
      .catch((error: unknown) => (unrecorded = { error }))
      .then(() => void sending.delete(due.tenant_id))
    sending.set(due.tenant_id, done)
  }
  return {
    begin: async (signal) => {
      if (unrecorded !== undefined) {
        const { error } = unrecorded
        unrecorded = undefined
        throw error
      }
      const free = MAX_AT_ONCE - sending.size
      if (free <= 0) return false
      const due = await dueWebhooks(deps.pool, [...sending.keys()], free)
      const webhooks = await webhooksOf(
        deps.pool,
        due.map((one) => one.tenant_id),
      )
      for (const one of due) {
        const webhook = webhooks.get(one.tenant_id)
        if (webhook !== undefined) start(one, webhook, signal)
      }
      return due.length === free
    },
    settled: async () => {
      await Promise.all(sending.values())
    },
  }
}

/** At most one alert of each tenant that has none under way, the longest due first. */
async function dueWebhooks(
  db: Queryable,
  underWay: readonly string[],
  limit: number,
): Promise<readonly Due[]> {
  const { rows } = await db.query<Due>({
    name: 'low-balances-due',
    text: `select tenant_id, currency, alert_id, seen_at, below, balance from (
             select distinct on (a.tenant_id) a.tenant_id, a.currency, a.alert_id, a.seen_at,
                    trim_scale(a.below)::text as below, trim_scale(a.balance)::text as balance,
                    a.next_try_at
             from ops.low_balances a
             where a.told_at is null and a.given_up_at is null
               and a.next_try_at <= clock_timestamp() and a.tenant_id <> all($1::text[])
               and ${hasWebhookSql('a.tenant_id')}
             order by a.tenant_id, a.next_try_at) due
           order by next_try_at limit $2`,
    values: [underWay, limit],
  })
  return rows
}

async function deliver(
  deps: WebhookDeps,
  due: Due,
  webhook: Webhook,
  signal: AbortSignal,
): Promise<void> {
  const failure = await send(deps, due, webhook, signal)
  // A delivery aborted by shutdown records nothing: another worker repeats it.
  if (failure !== undefined && signal.aborted) return
  const outcome = await recordOutcome(deps, due, failure)
  if (outcome !== undefined) deps.onOutcome(due.tenant_id, outcome, failure)
}

/** Undefined when the receiver accepted it; else the reason, in our words. */
async function send(
  { post, markerSecret, nowMs }: WebhookDeps,
  due: Due,
  { url, secretVersion }: Webhook,
  signal: AbortSignal,
): Promise<string | undefined> {
  const body = JSON.stringify({
    type: 'balance.low',
    timestamp: toTimestamp(due.seen_at.getTime()),
    data: {
      tenant_id: due.tenant_id,
      currency: due.currency,
      balance: due.balance,
      threshold: due.below,
    },
  })
  // The previous secret signs too: the receiver may not have the new one yet.
  const secrets = [secretVersion, secretVersion - 1]
    .filter((version) => version >= 1)
    .map((version) => webhookSecret(markerSecret, due.tenant_id, version))
  const message = { id: due.alert_id, timestampS: Math.floor(nowMs() / 1_000), body }
  const headers = { 'content-type': 'application/json', ...signedHeaders(message, secrets) }
  try {
    const status = await post(url, {
      tenantId: due.tenant_id,
      headers,
      body,
      timeoutMs: TRY_TIMEOUT_MS,
      signal,
    })
    return status >= 200 && status < 300 ? undefined : `it answers with the status ${status}`
  } catch (error) {
    if (!(error instanceof FetchFault)) throw error
    return error.reason === 'timeout' ? 'it does not answer in time' : `the URL ${error.message}`
  }
}

/** Undefined when the alert has ended meanwhile. */
async function recordOutcome(
  { pool }: WebhookDeps,
  { tenant_id, currency, alert_id }: Due,
  failure: string | undefined,
): Promise<WebhookOutcome | undefined> {
  const { rows } = await pool.query<{ outcome: WebhookOutcome }>({
    name: 'low-balances-note',
    text: `update ops.low_balances set
             tries = tries + 1,
             last_failure = $4,
             told_at = case when $4::text is null then clock_timestamp() end,
             next_try_at = clock_timestamp()
               + least(${FIRST_WAIT_S} * power(2, least(tries, 20)), ${LONGEST_WAIT_S}) * interval '1 second',
             given_up_at = case when $4::text is not null
                 and clock_timestamp() - seen_at > ${GIVE_UP_AFTER_S} * interval '1 second'
               then clock_timestamp() end
           where tenant_id = $1 and currency = $2 and alert_id = $3
           returning case when told_at is not null then 'delivered'
                          when given_up_at is not null then 'given_up' else 'failed' end as outcome`,
    values: [tenant_id, currency, alert_id, failure ?? null],
  })
  return rows[0]?.outcome
}

export const balanceAlertMigrations: Migrations = {
  owner: 'balance-alerts',
  steps: [
    `
-- Balances that are low, from when the worker found them until they are low no more, and the state of their webhooks.
create table ops.low_balances (
  tenant_id text not null,
  currency text not null,
  -- The same for every try, so that the receiver recognises a repetition.
  alert_id text not null,
  below numeric(38, 12) not null,
  balance numeric(38, 12) not null,
  -- Log position of the ledger when the worker found it.
  position bigint not null,
  seen_at timestamptz not null,
  tries integer not null default 0,
  next_try_at timestamptz not null,
  told_at timestamptz,
  given_up_at timestamptz,
  last_failure text,
  primary key (tenant_id, currency)
);
create index low_balances_due on ops.low_balances (next_try_at)
  where told_at is null and given_up_at is null;
`,
  ],
}
