import type { Clock } from '../../../kernel/clock.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { Allowance, type Measure, measures, type Share, type SharedUse } from './allowance.ts'
import { type Holder, limitReached, type Limits } from './limits.ts'

/** Holders remembered; the oldest without open calls are evicted first. */
const MAX_HOLDERS = 20_000
/** Most limits reported in one exchange. */
const MAX_REPORTED = 5_000

/** The status of one limit of a holder. */
export interface LimitStatus {
  readonly limit: number
  /** Amount that may be used now. */
  readonly remaining: number
  /** Milliseconds until no use is left to flow back. */
  readonly resetMs: number
}

export type LimitStatuses = Readonly<Partial<Record<Measure, LimitStatus>>>

/**
 * Requests and tokens per minute of every token, user and tenant. Use is kept in memory and shared
 * with the other replicas in the background (`allowance.ts`): no call waits for a database, and a
 * call of a holder without limits costs nothing.
 *
 * Only started work counts. A refused request is not counted, whatever the reason.
 */
export interface Rates {
  /**
   * Takes a request of every holder and, when the caller passes a function for it, the expected
   * tokens; undefined when no holder has a limit.
   * @throws DomainError `rate_limited`
   */
  readonly take: (
    holders: readonly Holder[],
    expectedTokens?: () => number,
  ) => Reservation | undefined
  /** The status of each limit that a holder has. */
  readonly statuses: (holder: Holder) => LimitStatuses
  /**
   * Reports the use of this replica and reads that of all.
   * @throws what `share` throws; the next exchange reports again
   */
  readonly exchange: (share: Share) => Promise<void>
}

export function createRates(clock: Clock): Rates {
  const uses = new Map<string, MinuteUse>()

  const useOf = ({ id, limits }: Holder): MinuteUse => {
    const known = uses.get(id)
    if (known !== undefined) {
      known.limit(limits)
      return known
    }
    if (uses.size >= MAX_HOLDERS) forgetOne(uses)
    const made = new MinuteUse(limits, clock)
    uses.set(id, made)
    return made
  }

  return {
    take: (holders, expectedTokens) => {
      const limited = holders.filter(isLimited)
      if (limited.length === 0) return undefined
      const isCounted = limited.some(({ limits }) => limits.tokensPerMinute !== undefined)
      const tokens = isCounted ? (expectedTokens?.() ?? 0) : 0
      const wanted = limited.map((holder) => {
        const use = useOf(holder)
        return { holder, use, amounts: use.amountsOf(tokens) }
      })
      // All holders are checked before any is changed: a refused request is not counted.
      let longest: (Shortage & Pick<Holder, 'whose'>) | undefined
      for (const { holder, use, amounts } of wanted) {
        const shortage = use.shortage(amounts)
        if (shortage !== undefined && shortage.waitMs > (longest?.waitMs ?? 0))
          longest = { ...shortage, whose: holder.whose }
      }
      if (longest !== undefined) {
        const { measure: limitedBy, perMinute: limit, ...rest } = longest
        throw limitReached({ ...rest, limitedBy, limit })
      }
      const taken = createReservations()
      for (const { use, amounts } of wanted) taken.add(use.take(amounts))
      return taken
    },
    statuses: ({ id, limits }) =>
      Object.fromEntries(
        measures.flatMap((measure) => {
          const limit = perMinuteOf(limits, measure)
          if (limit === undefined) return []
          return [[measure, uses.get(id)?.status(measure, limit) ?? untouched(limit)] as const]
        }),
      ),
    exchange: async (share) => {
      const used = [...uses].flatMap(([holderId, use]) => {
        const limits = use.inUse()
        if (limits.length === 0 && !use.isOpen) uses.delete(holderId)
        return limits.map((limit) => ({ holderId, ...limit }))
      })
      for (let at = 0; at < used.length; at += MAX_REPORTED)
        await exchangeSome(used.slice(at, at + MAX_REPORTED), share, clock)
    },
  }
}

function isLimited({ limits }: Holder): boolean {
  return measures.some((measure) => perMinuteOf(limits, measure) !== undefined)
}

type Reported = { readonly holderId: string } & ReturnType<MinuteUse['inUse']>[number]

async function exchangeSome(some: readonly Reported[], share: Share, clock: Clock): Promise<void> {
  const nowMs = clock.nowMs()
  const uses = some.map(({ holderId, measure, perMinute, allowance }) => ({
    holderId,
    measure,
    perMinute,
    used: allowance.report(perMinute, nowMs),
  }))
  let shared: readonly SharedUse[]
  try {
    shared = await share(uses)
  } catch (error) {
    for (const [index, { allowance }] of some.entries())
      allowance.reportFailed(uses[index]?.used ?? 0)
    throw error
  }
  const learnt = new Map(shared.map((use) => [`${use.measure} ${use.holderId}`, use.used]))
  for (const { holderId, measure, allowance } of some) {
    const used = learnt.get(`${measure} ${holderId}`)
    if (used !== undefined) allowance.learn(used, clock.nowMs())
  }
}

function untouched(limit: number): LimitStatus {
  return { limit, remaining: limit, resetMs: 0 }
}

function forgetOne(uses: Map<string, MinuteUse>): void {
  for (const [holderId, use] of uses)
    if (!use.isOpen) {
      uses.delete(holderId)
      return
    }
}

/** Amount of each measure. */
type Amounts = Readonly<Record<Measure, number>>

const limitOf: Readonly<Record<Measure, (limits: Limits) => number | undefined>> = {
  requests: (limits) => limits.requestsPerMinute,
  tokens: (limits) => limits.tokensPerMinute,
}

/** The limit of a measure; undefined when there is none. */
function perMinuteOf(limits: Limits, measure: Measure): number | undefined {
  return limitOf[measure](limits)
}

/** The missing amount of one limit, and the time until it is available. */
interface Shortage {
  readonly measure: Measure
  readonly perMinute: number
  readonly waitMs: number
}

/** Use of one holder of its limits per minute. */
class MinuteUse {
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

  /**
   * The use of limits by a request. A call that needs more than the limit may start at zero use.
   */
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

  /** Takes amounts, until the reservation ends for the first time. */
  take(amounts: Amounts): Reservation {
    this.#change(amounts)
    const isExpecting = amounts.tokens > 0
    if (isExpecting) this.#open += 1
    const correct = (usedTokens: number): void => {
      if (!isExpecting) return
      this.#open -= 1
      this.#change({ requests: 0, tokens: usedTokens - amounts.tokens })
    }
    return {
      commit: ({ tokens }) => correct(tokens),
      release: (why) => {
        correct(0)
        if (why === 'not_started') this.#change({ requests: -1, tokens: 0 })
      },
    }
  }

  status(measure: Measure, perMinute: number): LimitStatus {
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

  /** Whether the use counted for a call must still be corrected. */
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
