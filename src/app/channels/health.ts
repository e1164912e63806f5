import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog, type RetryLog } from '../../kernel/retry-log.ts'
import type { ProviderError } from '../ports/provider.ts'
import { createLru } from '../../kernel/lru.ts'
import type { Sharer } from '../../kernel/sharers.ts'
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

/** Users whose outcomes are kept for one channel: those that used it last. */
const MAX_USERS = 10_000
/** Tenants whose outcomes are kept for one channel: those that used it last. */
const MAX_TENANTS = 1_000
/** Tenants whose failures are counted when a channel is judged for all: more show no more. */
const MAX_FAILED_TENANTS = 64
/** Users whose failures are counted when a channel is judged for their tenant. */
const MAX_FAILED_USERS = 16

/** The effect of a call's end on its channel. */
export type ChannelOutcome =
  | 'success'
  | 'failure'
  /** The request failed after its answer had begun. */
  | 'broken_answer'
  /** No effect: the caller or the gateway ended the call, or it was not sent. */
  | 'neutral'

/**
 * The health of one channel. A caller's input can make a provider fail, so the failures of one
 * user close the channel for that user only. Once several users of a tenant fail and few of the
 * tenant's calls succeed, the channel is suspected for that tenant; once several tenants fail and
 * few calls succeed, for all. Each user then first sends probes, one at a time, and those of any
 * user that succeed end the suspicion. So no user can take the channel from another one, no tenant
 * from another tenant, and a user that is alone is protected by its own breaker.
 */
export class ChannelHealth {
  readonly #settings: BreakerSettings
  /** A user without an outcome yet has none. */
  readonly #users = createLru<string, UserHealth>(MAX_USERS)
  /** Failures of the users of each tenant. */
  readonly #tenants = createLru<string, Suspicion>(MAX_TENANTS)
  /** Failures of all tenants. */
  readonly #all: Suspicion

  constructor(settings: BreakerSettings, nowMs: number) {
    this.#settings = settings
    this.#all = new Suspicion(settings, MAX_FAILED_TENANTS, nowMs)
  }

  /** Whether a user's call may be tried now. */
  mayCall(sharer: Sharer, nowMs: number): boolean {
    const state = this.#stateOf(sharer)
    return state === undefined || mayCall(state, nowMs, this.#settings)
  }

  /** A user's call is tried. */
  onCall(sharer: Sharer, nowMs: number): void {
    const state = this.#stateOf(sharer)
    if (state === undefined || state.kind === 'closed') return
    this.#keep(sharer, onCall(state, nowMs, this.#settings))
  }

  /** A user's call ended. */
  onOutcome(sharer: Sharer, outcome: ChannelOutcome, nowMs: number): void {
    if (outcome === 'neutral') {
      const user = this.#users.get(sharer.user)
      if (user !== undefined) user.breaker = onNeutral(user.breaker)
      return
    }
    const state = this.#stateOf(sharer) ?? closedBreaker(nowMs)
    const ofTenant = this.#ofTenant(sharer, nowMs)
    if (outcome === 'success') {
      const next = onSuccess(state, nowMs, this.#settings)
      this.#keep(sharer, next)
      for (const suspicion of [ofTenant, this.#all])
        suspicion.onSuccess(nowMs, next.kind === 'closed')
      return
    }
    const weight = outcome === 'failure' ? 1 : this.#settings.brokenAnswerWeight
    this.#keep(sharer, onFailure(state, nowMs, this.#settings, weight))
    ofTenant.onFailure(sharer.user, weight, nowMs)
    this.#all.onFailure(sharer.tenant, weight, nowMs)
  }

  /** The state for operators: that of the channel, or that of its users if all have the same. */
  kind(nowMs: number): BreakerState['kind'] {
    if (this.#all.isHeld) return 'open'
    let worst: BreakerState['kind'] = 'closed'
    for (const { breaker: state, tenant } of this.#users.values()) {
      if (state.kind === 'open' || this.#isSuspected(tenant)) worst = 'open'
      else if (state.kind === 'half_open') worst = worst === 'open' ? 'open' : 'half_open'
      else if (nowMs - state.current.startedAtMs < this.#settings.windowMs) return 'closed'
    }
    return worst
  }

  /** Users for which the channel is closed because of their own failures. */
  shutUsers(): number {
    let shut = 0
    for (const { breaker } of this.#users.values()) if (breaker.kind !== 'closed') shut += 1
    return shut
  }

  #isSuspected(tenant: string): boolean {
    return this.#all.isHeld || this.#tenants.peek(tenant)?.isHeld === true
  }

  /** While the channel is suspected, a user's earlier successes count for nothing. */
  #stateOf({ user, tenant }: Sharer): BreakerState | undefined {
    const state = this.#users.get(user)?.breaker
    const isShut = state !== undefined && state.kind !== 'closed'
    return isShut || !this.#isSuspected(tenant) ? state : probingBreaker(this.#settings)
  }

  #keep({ user, tenant }: Sharer, breaker: BreakerState): void {
    const kept = this.#users.get(user)
    if (kept === undefined) this.#users.set(user, { breaker, tenant })
    else kept.breaker = breaker
  }

  #ofTenant({ tenant }: Sharer, nowMs: number): Suspicion {
    const kept = this.#tenants.get(tenant)
    if (kept !== undefined) return kept
    const first = new Suspicion(this.#settings, MAX_FAILED_USERS, nowMs)
    this.#tenants.set(tenant, first)
    return first
  }
}

/** Changed in place: each call that ends changes it. */
interface UserHealth {
  breaker: BreakerState
  readonly tenant: string
}

/** Whether the failures of several, tenants or users of a tenant, are the fault of the channel. */
class Suspicion {
  readonly #settings: BreakerSettings
  /** The most tenants or users whose failures are counted. */
  readonly #maxFailed: number
  #isHeld = false
  #current: SharedCounts
  #previous: SharedCounts

  constructor(settings: BreakerSettings, maxFailed: number, nowMs: number) {
    this.#settings = settings
    this.#maxFailed = maxFailed
    this.#current = noCounts(nowMs)
    this.#previous = noCounts(nowMs)
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** A call succeeded; with `isProven`, as the last of the probes that show a working channel. */
  onSuccess(nowMs: number, isProven: boolean): void {
    this.#roll(nowMs)
    this.#current.successes += 1
    if (!this.#isHeld || !isProven) return
    this.#isHeld = false
    this.#current = noCounts(nowMs)
    this.#previous = noCounts(nowMs)
  }

  /** A call of the tenant or user with this key failed. */
  onFailure(key: string, weight: number, nowMs: number): void {
    this.#roll(nowMs)
    const { maxFailuresOfOne, minimumFailures, failureShare } = this.#settings
    const { failedBy } = this.#current
    const counted = (failedBy.get(key) ?? 0) + (this.#previous.failedBy.get(key) ?? 0)
    const counts = Math.min(weight, maxFailuresOfOne - counted)
    if (counts <= 0 || (failedBy.size >= this.#maxFailed && !failedBy.has(key))) return
    failedBy.set(key, (failedBy.get(key) ?? 0) + counts)
    this.#current.failures += counts
    const failures = this.#current.failures + this.#previous.failures
    const all = failures + this.#current.successes + this.#previous.successes
    if (failures < minimumFailures || failures < all * failureShare) return
    this.#isHeld = new Set([...failedBy.keys(), ...this.#previous.failedBy.keys()]).size > 1
  }

  /**
   * The older half of the window counts fully until the newer half is full, as in a user's breaker.
   */
  #roll(nowMs: number): void {
    const { windowMs } = this.#settings
    const ageMs = nowMs - this.#current.startedAtMs
    if (ageMs < windowMs / 2) return
    this.#previous = ageMs < windowMs ? this.#current : noCounts(nowMs)
    this.#current = noCounts(nowMs)
  }
}

/** Counts of half a window. */
interface SharedCounts {
  readonly startedAtMs: number
  successes: number
  /** Weights; of one tenant or user at most `maxFailuresOfOne`. */
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

interface AccountRefusal {
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
  /** The last refusal of each channel and model of the channel file. */
  readonly #refusals = new Map<string, AccountRefusal>()

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

  /** Describes the channels that refuse the gateway now, for operators. */
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
