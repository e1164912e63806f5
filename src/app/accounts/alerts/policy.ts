import type { Pool } from 'pg'
import { Counter, Gauge, type Registry } from 'prom-client'
import { hasThresholds } from '../../../../projections/access/query.ts'
import { keepLead } from '../../../../projections/engine/leadership.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import { currencies } from '../../../kernel/money.ts'
import type { PostPublic } from '../../../kernel/public-fetch.ts'
import { beginAtZero } from '../../../platform/counters.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import { createKnownEmpty, type SeenModels } from '../../queue/seen-models.ts'
import type { PolicySet } from '../../queue/worker.ts'
import { countLowBalances, recordLowBalances } from './low-balances.ts'
import { createWebhookDelivery, webhookOutcomes } from './webhooks.ts'

/** Maximum delay until a low balance is noticed, beyond the ledger's lag. */
const IDLE_MS = 2_000
/** A leader silent for this long hangs or is disconnected: Postgres ends its session. */
const SILENT_LEADER_MS = 30_000

interface BalanceAlertDeps {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'endPosition'>
  readonly post: PostPublic
  readonly markerSecret: string
  readonly clock: Clock
  readonly logger: Log
  readonly registry: Registry
  /** With them it asks nothing while no tenant has a threshold and no event sets one. */
  readonly models?: SeenModels | undefined
}

/**
 * Watches for balances below their thresholds and sends alerts, in one worker at a time. A low
 * balance is alerted once, and again only after it was not low; by a webhook at least once, under
 * the same id each time.
 */
export function balanceAlertPolicies(deps: BalanceAlertDeps): PolicySet {
  const { pool, log, clock, logger, registry } = deps
  const low = new Gauge({
    name: 'tollgate_low_balances',
    help: 'Balances below their threshold, by currency; only the leading worker reports them.',
    labelNames: ['currency'],
    registers: [registry],
  })
  const webhooks = new Counter({
    name: 'tollgate_balance_webhooks_total',
    help: 'Attempts to deliver a low-balance webhook, by outcome: delivered, failed, given_up.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  beginAtZero(webhooks, { outcome: webhookOutcomes })
  const lead = keepLead(pool, 'balance-alerts', { silentMs: SILENT_LEADER_MS })
  const delivery = createWebhookDelivery({
    ...deps,
    nowMs: () => clock.nowMs(),
    onOutcome: (tenantId, outcome, reason) => {
      webhooks.inc({ outcome })
      if (outcome !== 'delivered')
        logger.warn({ tenantId, outcome, reason }, 'a webhook of a low balance was not accepted')
    },
  })
  let isWatching = false
  const hasAny = createThresholdLook(pool, deps.models)
  const round = async (stopping: AbortSignal): Promise<'more' | 'idle'> => {
    const leading = await lead.hold()
    if (leading === undefined) {
      low.reset()
      return 'idle'
    }
    const signal = AbortSignal.any([stopping, leading.lost])
    // A new leader does not know earlier findings.
    if (leading.isNew) isWatching = true
    const isAny = await hasAny()
    // After the last threshold is removed, one more complete round ends the alerts found before.
    if (!isAny && !isWatching) return 'idle'
    // A ledger that is catching up may have spending and lack grants.
    if (isAny) await requireCaughtUp({ db: pool, log }, 'ledger')
    for (const lowBalance of await recordLowBalances(pool, newId('alert', clock.nowMs())))
      logger.warn(lowBalance, 'a balance is low')
    const counts = await countLowBalances(pool)
    for (const currency of currencies) low.set({ currency }, counts.get(currency) ?? 0)
    isWatching = isAny
    return (await delivery.begin(signal)) ? 'more' : 'idle'
  }
  return {
    policies: [{ name: 'balance-alerts', idleMs: IDLE_MS, round }],
    drain: async () => {
      await delivery.settled()
      await lead.release()
    },
  }
}

/** Looks whether any tenant has a threshold. */
function createThresholdLook(pool: Pool, models: SeenModels | undefined): () => Promise<boolean> {
  const empty = models && createKnownEmpty(models, 'access', monotonicClock)
  const all = 'thresholds'
  return async () => {
    if (empty?.has(all) === true) return false
    const noteEmpty = empty?.asking()
    const isAny = await hasThresholds(pool)
    noteEmpty?.(all, !isAny)
    return isAny
  }
}
