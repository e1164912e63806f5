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
/** Most alerts sent in parallel, and in one round. */
const MAX_AT_ONCE = 16

interface WebhookDeps {
  readonly pool: Queryable
  readonly post: PostPublic
  readonly markerSecret: string
  readonly nowMs: () => number
}

/** `told`: the receiver accepted it. The metric names outcomes so. */
type WebhookOutcome = 'told' | 'failed' | 'given_up'

/** A low balance that its tenant is to be alerted of. */
interface Due {
  readonly tenant_id: string
  readonly currency: Currency
  readonly alert_id: string
  readonly below: string
  readonly balance: string
  readonly seen_at: Date
}

/**
 * Sends what is due, once each. If the process dies between sending and recording, the alert is
 * sent again under the same id.
 */
export async function sendDueWebhooks(
  deps: WebhookDeps,
  signal: AbortSignal,
): Promise<readonly (readonly [string, WebhookOutcome, string | undefined])[]> {
  const { rows } = await deps.pool.query<Due>({
    name: 'low-balances-due',
    text: `select a.tenant_id, a.currency, a.alert_id, a.seen_at, trim_scale(a.below)::text as below,
                  trim_scale(a.balance)::text as balance
           from ops.low_balances a
           where a.told_at is null and a.given_up_at is null and a.next_try_at <= clock_timestamp()
             and ${hasWebhookSql('a.tenant_id')}
           order by a.next_try_at limit ${MAX_AT_ONCE}`,
  })
  if (rows.length === 0) return []
  const webhooks = await webhooksOf(
    deps.pool,
    rows.map((row) => row.tenant_id),
  )
  const outcomes = rows.map(async (due) => {
    const webhook = webhooks.get(due.tenant_id)
    if (webhook === undefined) return []
    const failure = await send(deps, due, webhook, signal)
    // A try aborted by shutdown records nothing: another worker repeats it.
    if (failure !== undefined && signal.aborted) return []
    const outcome = await recordOutcome(deps, due, failure)
    return outcome === undefined ? [] : [[due.tenant_id, outcome, failure] as const]
  })
  return (await Promise.all(outcomes)).flat()
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
  // Also with the previous secret: the receiver may not have the new one yet.
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
           returning case when told_at is not null then 'told'
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
