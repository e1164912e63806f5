import type { Clock } from '../../../kernel/clock.ts'
import { Allowance } from './allowance.ts'
import type { Limits } from './holders.ts'

export type Measure = 'requests' | 'tokens'
export const measures: readonly Measure[] = ['requests', 'tokens']
/** How much of each. */
type Amounts = Readonly<Record<Measure, number>>

const limitOf: Readonly<Record<Measure, (limits: Limits) => number | undefined>> = {
  requests: (limits) => limits.requestsPerMinute,
  tokens: (limits) => limits.tokensPerMinute,
}

/** The limit of a measure; undefined when there is none. */
export function perMinuteOf(limits: Limits, measure: Measure): number | undefined {
  return limitOf[measure](limits)
}

/** The status of one limit of a holder. */
export interface LimitStatus {
  readonly limit: number
  /** How much may be taken now. */
  readonly remaining: number
  /** Milliseconds until nothing is used. */
  readonly resetMs: number
}

/** How much of one limit is missing, and for how long. */
export interface Shortage {
  readonly measure: Measure
  readonly perMinute: number
  readonly waitMs: number
}

/** What one holder used of its limits per minute. */
export class MinuteUse {
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

  /** The limits as they are now: they may change at any time. */
  limit(limits: Limits): void {
    this.#limits = limits
  }

  /** What a request takes. A call that needs more than the limit may start at zero use. */
  amountsOf(expectedTokens: number): Amounts {
    return { requests: 1, tokens: Math.min(expectedTokens, this.#limits.tokensPerMinute ?? 0) }
  }

  /** The unavailable part of these amounts with the longest wait, if any. */
  shortage(amounts: Amounts): Shortage | undefined {
    const nowMs = this.#clock.nowMs()
    let longest: Shortage | undefined
    for (const measure of measures) {
      const perMinute = perMinuteOf(this.#limits, measure)
      if (perMinute === undefined || amounts[measure] === 0) continue
      const waitMs = this.#allowances[measure].waitMs(amounts[measure], perMinute, nowMs)
      if (waitMs > (longest?.waitMs ?? 0)) longest = { measure, perMinute, waitMs }
    }
    return longest
  }

  /** Takes amounts; the returned function ends the call with its tokens, or undefined. */
  take(amounts: Amounts): (usedTokens: number | undefined) => void {
    this.#change(amounts)
    if (amounts.tokens > 0) this.#open += 1
    return (usedTokens) => {
      if (amounts.tokens > 0) this.#open -= 1
      if (usedTokens === undefined) this.#change({ requests: -1, tokens: -amounts.tokens })
      else if (amounts.tokens > 0)
        this.#change({ requests: 0, tokens: usedTokens - amounts.tokens })
    }
  }

  standing(measure: Measure, perMinute: number): LimitStatus {
    const nowMs = this.#clock.nowMs()
    const allowance = this.#allowances[measure]
    return {
      limit: perMinute,
      remaining: allowance.remaining(perMinute, nowMs),
      resetMs: allowance.resetMs(perMinute, nowMs),
    }
  }

  /** The limits with any use, each with its state. */
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

  /** Whether a call has yet to correct what it took. */
  get isOpen(): boolean {
    return this.#open > 0
  }

  #change(amounts: Amounts): void {
    const nowMs = this.#clock.nowMs()
    for (const measure of measures) {
      const perMinute = perMinuteOf(this.#limits, measure)
      if (perMinute !== undefined && amounts[measure] !== 0)
        this.#allowances[measure].take(amounts[measure], perMinute, nowMs)
    }
  }
}
