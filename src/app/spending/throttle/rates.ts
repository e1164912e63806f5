import type { Clock } from '../../../kernel/clock.ts'
import type { Reservation } from '../reservation.ts'
import { limitReached } from './breach.ts'
import type { Holder } from './holders.ts'
import {
  type Measure,
  measures,
  MinuteUse,
  perMinuteOf,
  type Shortage,
  type LimitStatus,
} from './minute-use.ts'

/** Holders remembered; the oldest without open calls are evicted first. */
const MAX_HOLDERS = 20_000
/** Most limits reported in one exchange. */
const MAX_TOLD = 5_000

/** Use of one limit since the last report to the other replicas. */
export interface Use {
  readonly holderId: string
  readonly measure: Measure
  readonly perMinute: number
  /** Negative when more came back than was taken. */
  readonly used: number
}

/** What all replicas together use of a limit now. */
export type SharedUse = Omit<Use, 'perMinute'>
/** Reports and reads; the answer omits a limit that no replica ever reported. */
export type Share = (uses: readonly Use[]) => Promise<readonly SharedUse[]>

export type LimitStatuses = Readonly<Partial<Record<Measure, LimitStatus>>>

/**
 * Requests and tokens per minute of every token, user and tenant. Use is kept in memory and shared
 * with the other replicas in the background (`sharing.ts`): no call waits for a database, and a
 * call of a holder without limits costs nothing.
 *
 * Only started work counts. A refused request counts nothing, whatever the reason.
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
  readonly limitStatuses: (holder: Holder) => LimitStatuses
  /**
   * Reports what was used and reads what all replicas used.
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
      // All are checked before any is changed: a refused request counts nothing.
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
      return endingOnce(wanted.map(({ use, amounts }) => use.take(amounts)))
    },
    limitStatuses: ({ id, limits }) =>
      Object.fromEntries(
        measures.flatMap((measure) => {
          const limit = perMinuteOf(limits, measure)
          if (limit === undefined) return []
          return [[measure, uses.get(id)?.standing(measure, limit) ?? untouched(limit)] as const]
        }),
      ),
    exchange: async (share) => {
      const used = [...uses].flatMap(([holderId, use]) => {
        const limits = use.inUse()
        if (limits.length === 0 && !use.isOpen) uses.delete(holderId)
        return limits.map((limit) => ({ holderId, ...limit }))
      })
      for (let at = 0; at < used.length; at += MAX_TOLD)
        await exchangeSome(used.slice(at, at + MAX_TOLD), share, clock)
    },
  }
}

function isLimited({ limits }: Holder): boolean {
  return measures.some((measure) => perMinuteOf(limits, measure) !== undefined)
}

function endingOnce(ends: readonly ((usedTokens: number | undefined) => void)[]): Reservation {
  let left = ends
  const end = (usedTokens: number | undefined): void => {
    const now = left
    left = []
    for (const one of now) one(usedTokens)
  }
  return {
    commit: ({ tokens }) => end(tokens),
    release: (why) => end(why === 'failed' ? 0 : undefined),
  }
}

type Told = { readonly holderId: string } & ReturnType<MinuteUse['inUse']>[number]

async function exchangeSome(some: readonly Told[], share: Share, clock: Clock): Promise<void> {
  const nowMs = clock.nowMs()
  const uses = some.map(({ holderId, measure, perMinute, allowance }) => ({
    holderId,
    measure,
    perMinute,
    used: allowance.tell(perMinute, nowMs),
  }))
  let shared: readonly SharedUse[]
  try {
    shared = await share(uses)
  } catch (error) {
    for (const [index, { allowance }] of some.entries()) allowance.untell(uses[index]?.used ?? 0)
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
