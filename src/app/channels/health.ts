import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog, type RetryLog } from '../../kernel/retry-log.ts'
import type { ProviderError } from '../ports/provider.ts'
import { createLru } from '../../kernel/lru.ts'
import {
  type BreakerSettings,
  type BreakerState,
  closedBreaker,
  mayCall,
  onCall,
  onFailure,
  onNeutral,
  onSuccess,
  probingBreaker,
} from './breaker.ts'

/** Tenants whose outcomes are kept for one channel: those that used it last. */
const MAX_TENANTS = 1_000
/** Tenants whose failures are counted when a channel is judged for all: more show no more. */
const MAX_FAILED_TENANTS = 64

/** The effect of a call's end on its channel. */
export type ChannelOutcome =
  | 'success'
  | 'failure'
  /** It failed after its answer had begun. */
  | 'broken_answer'
  /** No effect: the caller or the gateway ended the call, or it was not sent. */
  | 'neutral'

/**
 * The health of one channel. A caller's input can make a provider fail, so the failures of one
 * tenant close the channel for that tenant only. Once several tenants fail and few calls succeed,
 * the channel is suspected: each tenant first sends probes, one at a time, and those of any tenant
 * that succeed end the suspicion. So no tenant can take the channel from another one, and a tenant
 * that is alone is protected by its own breaker.
 */
export class ChannelHealth {
  readonly #settings: BreakerSettings
  /** Breakers by tenant; a tenant without an outcome yet has none. */
  readonly #tenants = createLru<string, TenantHealth>(MAX_TENANTS)
  #isSuspected = false
  #current: SharedCounts
  #previous: SharedCounts

  constructor(settings: BreakerSettings, nowMs: number) {
    this.#settings = settings
    this.#current = noCounts(nowMs)
    this.#previous = noCounts(nowMs)
  }

  /** Whether a tenant's call may be tried now. */
  mayCall(tenantId: string, nowMs: number): boolean {
    const state = this.#stateOf(this.#tenants.get(tenantId))
    return state === undefined || mayCall(state, nowMs, this.#settings)
  }

  /** A tenant's call is tried. */
  onCall(tenantId: string, nowMs: number): void {
    const tenant = this.#tenants.get(tenantId)
    const state = this.#stateOf(tenant)
    if (state === undefined || state.kind === 'closed') return
    this.#keep(tenantId, tenant, onCall(state, nowMs, this.#settings))
  }

  /** A tenant's call ended. */
  onOutcome(tenantId: string, outcome: ChannelOutcome, nowMs: number): void {
    const tenant = this.#tenants.get(tenantId)
    if (outcome === 'neutral') {
      if (tenant !== undefined) tenant.breaker = onNeutral(tenant.breaker)
      return
    }
    this.#roll(nowMs)
    const state = this.#stateOf(tenant) ?? closedBreaker(nowMs)
    if (outcome === 'success') {
      this.#current.successes += 1
      const next = onSuccess(state, nowMs, this.#settings)
      this.#keep(tenantId, tenant, next)
      if (this.#isSuspected && next.kind === 'closed') this.#trust(nowMs)
      return
    }
    const weight = outcome === 'failure' ? 1 : this.#settings.brokenAnswerWeight
    this.#keep(tenantId, tenant, onFailure(state, nowMs, this.#settings, weight))
    this.#countFailure(tenantId, weight)
  }

  /** The state for operators: that of the channel, or that of its tenants if all have the same. */
  kind(nowMs: number): BreakerState['kind'] {
    if (this.#isSuspected) return 'open'
    let worst: BreakerState['kind'] = 'closed'
    for (const { breaker: state } of this.#tenants.values()) {
      if (state.kind === 'open') worst = 'open'
      else if (state.kind === 'half_open') worst = worst === 'open' ? 'open' : 'half_open'
      else if (nowMs - state.current.startedAtMs < this.#settings.windowMs) return 'closed'
    }
    return worst
  }

  /** Tenants for which the channel is closed because of their own failures. */
  shutTenants(): number {
    let shut = 0
    for (const { breaker } of this.#tenants.values()) if (breaker.kind !== 'closed') shut += 1
    return shut
  }

  /** While the channel is suspected, a tenant's earlier successes count for nothing. */
  #stateOf(tenant: TenantHealth | undefined): BreakerState | undefined {
    const state = tenant?.breaker
    if (!this.#isSuspected || (state !== undefined && state.kind !== 'closed')) return state
    return probingBreaker(this.#settings)
  }

  #keep(tenantId: string, tenant: TenantHealth | undefined, breaker: BreakerState): void {
    if (tenant === undefined) this.#tenants.set(tenantId, { breaker })
    else tenant.breaker = breaker
  }

  #countFailure(tenantId: string, weight: number): void {
    const { maxFailuresATenant, minimumFailures, failureShare } = this.#settings
    const { failedBy } = this.#current
    const counted = (failedBy.get(tenantId) ?? 0) + (this.#previous.failedBy.get(tenantId) ?? 0)
    const counts = Math.min(weight, maxFailuresATenant - counted)
    if (counts <= 0 || (failedBy.size >= MAX_FAILED_TENANTS && !failedBy.has(tenantId))) return
    failedBy.set(tenantId, (failedBy.get(tenantId) ?? 0) + counts)
    this.#current.failures += counts
    const failures = this.#current.failures + this.#previous.failures
    const all = failures + this.#current.successes + this.#previous.successes
    if (failures < minimumFailures || failures < all * failureShare) return
    this.#isSuspected = new Set([...failedBy.keys(), ...this.#previous.failedBy.keys()]).size > 1
  }

  #trust(nowMs: number): void {
    this.#isSuspected = false
    this.#current = noCounts(nowMs)
    this.#previous = noCounts(nowMs)
  }

  /**
   * As in a tenant's breaker, the older half of the window counts fully until the newer half is
   * full.
   */
  #roll(nowMs: number): void {
    const { windowMs } = this.#settings
    const ageMs = nowMs - this.#current.startedAtMs
    if (ageMs < windowMs / 2) return
    this.#previous = ageMs < windowMs ? this.#current : noCounts(nowMs)
    this.#current = noCounts(nowMs)
  }
}

/** Changed in place: each call that ends changes it. */
interface TenantHealth {
  breaker: BreakerState
}

/** Counts of all tenants in half a window. */
interface SharedCounts {
  readonly startedAtMs: number
  successes: number
  /** Weights; of one tenant at most `maxFailuresATenant`. */
  failures: number
  readonly failedBy: Map<string, number>
}

const noCounts = (startedAtMs: number): SharedCounts => ({
  startedAtMs,
  successes: 0,
  failures: 0,
  failedBy: new Map(),
})

/** A refusal of the gateway's own account without a success since is shown for this long. */
const SHOWN_FOR_MS = 600_000

interface Refusal {
  readonly status: number | undefined
  readonly atMs: number
  readonly log: RetryLog
}

/**
 * Channels that refused the gateway itself: its key, its contract, its balance, or a model that the
 * account does not have. Callers are served by another channel, or get 503; only the operator can
 * change it, and sees it in the log and in `degraded`.
 */
export class AccountRefusals {
  readonly #clock: Clock
  readonly #logger: Pick<Log, 'warn'>
  /** By channel and model; both come from the channel file. */
  readonly #refusals = new Map<string, Refusal>()

  /** @param clock for durations only */
  constructor(clock: Clock, logger: Pick<Log, 'warn'>) {
    this.#clock = clock
    this.#logger = logger
  }

  /** A channel refused the gateway's account for a model. */
  refused(channelId: string, model: string | undefined, { status, code }: ProviderError): void {
    const key = keyOf(channelId, model)
    const log = this.#refusals.get(key)?.log ?? createRetryLog(this.#logger)
    this.#refusals.set(key, { status, atMs: this.#clock.nowMs(), log })
    log.failed(
      { channelId, model, status, upstreamCode: code },
      'a channel refused the key, the model or the account of the gateway',
    )
  }

  /** A channel answered a call of a model. */
  worked(channelId: string, model: string | undefined): void {
    if (this.#refusals.size > 0) this.#refusals.delete(keyOf(channelId, model))
  }

  /** What is refused now, in words for operators. */
  shown(): readonly string[] {
    const sinceMs = this.#clock.nowMs() - SHOWN_FOR_MS
    return [...this.#refusals]
      .filter(([, { atMs }]) => atMs >= sinceMs)
      .map(
        ([key, { status }]) =>
          `${key} is refused${status === undefined ? '' : ` with ${status}`}: check its credential, its balance and the model's name upstream`,
      )
  }
}

function keyOf(channelId: string, model: string | undefined): string {
  return model === undefined ? channelId : `${channelId} (${model})`
}
