import type { Clock } from '../../kernel/clock.ts'
import { Allowance } from './allowance.ts'
import { limitReached } from './breach.ts'
import type { Limits } from './limits.ts'

export type Measure = 'requests' | 'tokens'
export const measures: readonly Measure[] = ['requests', 'tokens']

const limitOf: Readonly<Record<Measure, (limits: Limits) => number | undefined>> = {
  requests: (limits) => limits.requestsPerMinute,
  tokens: (limits) => limits.tokensPerMinute,
}

/** The limit of a measure; undefined where there is none. */
export function perMinuteOf(limits: Limits | undefined, measure: Measure): number | undefined {
  return limits && limitOf[measure](limits)
}

/** What was taken for one call. The first end counts. */
export interface Taken {
  /** The call came to an end and used this many tokens instead of those expected of it. */
  readonly settle: (tokens: number) => void
  /** Nothing was started: the request does not count either. */
  readonly giveBack: () => void
}

/** How a token stands with one limit. */
export interface Standing {
  readonly limit: number
  /** What may be taken now. */
  readonly remaining: number
  /** Until nothing is used. */
  readonly resetMs: number
}

/** What one token used of its limits per minute. */
export class TokenUse {
  readonly #allowances: Readonly<Record<Measure, Allowance>>
  readonly #clock: Clock
  #limits: Limits
  /** Calls whose expected tokens are not corrected yet. */
  #open = 0

  constructor(limits: Limits, clock: Clock) {
    const nowMs = clock.nowMs()
    this.#limits = limits
    this.#clock = clock
    this.#allowances = { requests: new Allowance(nowMs), tokens: new Allowance(nowMs) }
  }

  /**
   * Takes a request and the tokens expected of it under these limits. A call that alone needs more
   * tokens than the limit may start once none are used.
   * @throws DomainError `rate_limited`
   */
  take(limits: Limits, expectedTokens: (() => number) | undefined): Taken {
    this.#limits = limits
    const tokensPerMinute = expectedTokens && limits.tokensPerMinute
    const amounts = {
      requests: 1,
      tokens:
        tokensPerMinute === undefined ? 0 : Math.min(expectedTokens?.() ?? 0, tokensPerMinute),
    }
    this.#refuseUnlessThere(amounts)
    this.#change(amounts)
    if (amounts.tokens > 0) this.#open += 1
    return this.#taken(amounts)
  }

  standing(measure: Measure, perMinute: number): Standing {
    const nowMs = this.#clock.nowMs()
    const allowance = this.#allowances[measure]
    return {
      limit: perMinute,
      remaining: allowance.remaining(perMinute, nowMs),
      resetMs: allowance.resetMs(perMinute, nowMs),
    }
  }

  /** The limits that are used, each with what is known of it. */
  inUse(): readonly {
    readonly measure: Measure
    readonly allowance: Allowance
    readonly perMinute: number
  }[] {
    const nowMs = this.#clock.nowMs()
    return measures.flatMap((measure) => {
      const perMinute = perMinuteOf(this.#limits, measure)
      const allowance = this.#allowances[measure]
      if (perMinute === undefined || allowance.isWhole(perMinute, nowMs)) return []
      return [{ measure, allowance, perMinute }]
    })
  }

  /** Whether a call will still correct what it took. */
  get isOpen(): boolean {
    return this.#open > 0
  }

  #refuseUnlessThere(amounts: Readonly<Record<Measure, number>>): void {
    const nowMs = this.#clock.nowMs()
    let longest: { measure: Measure; perMinute: number; waitMs: number } | undefined
    for (const measure of measures) {
      const perMinute = perMinuteOf(this.#limits, measure)
      if (perMinute === undefined || amounts[measure] === 0) continue
      const waitMs = this.#allowances[measure].waitMs(amounts[measure], perMinute, nowMs)
      if (waitMs > (longest?.waitMs ?? 0)) longest = { measure, perMinute, waitMs }
    }
    if (longest !== undefined)
      throw limitReached(longest.measure, longest.perMinute, longest.waitMs)
  }

  #change(amounts: Readonly<Record<Measure, number>>): void {
    const nowMs = this.#clock.nowMs()
    for (const measure of measures) {
      const perMinute = perMinuteOf(this.#limits, measure)
      if (perMinute !== undefined && amounts[measure] !== 0)
        this.#allowances[measure].take(amounts[measure], perMinute, nowMs)
    }
  }

  #taken(amounts: Readonly<Record<Measure, number>>): Taken {
    let ended = false
    const end = (requests: number, tokens: number): void => {
      if (ended) return
      ended = true
      if (amounts.tokens > 0) this.#open -= 1
      this.#change({ requests, tokens })
    }
    return {
      settle: (tokens) => end(0, amounts.tokens > 0 ? tokens - amounts.tokens : 0),
      giveBack: () => end(-1, -amounts.tokens),
    }
  }
}
