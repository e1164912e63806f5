import type { Clock } from '../../../kernel/clock.ts'
import type { Reservation } from '../reservation.ts'
import { limitReached } from './breach.ts'
import type { Holder } from './holders.ts'

/** Calls end at any time, so a refused caller may retry soon. */
const RETRY_AFTER_MS = 1_000
/** What the other replicas reported counts for this long. */
const LEARNT_FOR_MS = 10_000

/** The calls of one holder that this replica has in flight. */
interface OwnCalls {
  readonly holderId: string
  readonly calls: number
}

/** Reports this replica's calls in flight, and returns those of all other replicas by holder id. */
export type ShareCalls = (own: readonly OwnCalls[]) => Promise<ReadonlyMap<string, number>>

/**
 * Counts the synchronous calls in flight of every holder with a limit. The count is in memory and
 * shared with the other replicas about once a second. A replica that has received nothing yet
 * counts only its own calls, so together the replicas exceed the limit by at most the limit once
 * more for each further one, and start nothing more until the excess is over.
 */
export interface CallsUnderWay {
  /** Takes a place with every limited holder, if any. @throws DomainError `rate_limited` */
  readonly enter: (holders: readonly Holder[]) => Reservation | undefined
  /** How many calls are known to be in flight, on this replica and the others. */
  readonly of: (holderId: string) => number
  /** @throws what `share` throws; the next exchange reports again */
  readonly exchange: (share: ShareCalls) => Promise<void>
}

interface Counted {
  here: number
  elsewhere: number
  learntAtMs: number
  /** The number last reported to the other replicas. */
  told: number
  /** Whether a call was counted or refused since the last report. */
  isAsked: boolean
}

export function createCallsUnderWay(monotonic: Clock): CallsUnderWay {
  const counts = new Map<string, Counted>()
  const countOf = (holderId: string): Counted => {
    const known = counts.get(holderId)
    if (known !== undefined) return known
    const made = { here: 0, elsewhere: 0, learntAtMs: -Infinity, told: 0, isAsked: false }
    counts.set(holderId, made)
    return made
  }
  const total = ({ here, elsewhere, learntAtMs }: Counted): number =>
    here + (monotonic.nowMs() - learntAtMs < LEARNT_FOR_MS ? elsewhere : 0)

  return {
    enter: (holders) => {
      const entered = holders.flatMap((holder) => {
        const limit = holder.limits.concurrentCalls
        if (limit === undefined) return []
        const counted = countOf(holder.id)
        counted.isAsked = true
        if (total(counted) >= limit) {
          const { whose } = holder
          throw limitReached({
            whose,
            limitedBy: 'concurrent_calls',
            limit,
            waitMs: RETRY_AFTER_MS,
          })
        }
        return [counted]
      })
      if (entered.length === 0) return undefined
      return placeWith(entered)
    },
    of: (holderId) => {
      const counted = counts.get(holderId)
      return counted === undefined ? 0 : total(counted)
    },
    exchange: async (share) => {
      const telling = [...counts].flatMap(([holderId, counted]) => {
        const { here, elsewhere, told, isAsked } = counted
        // Holders with recent requests stay up to date while other replicas are busy.
        if (here > 0 || elsewhere > 0 || told > 0 || isAsked)
          return [{ holderId, calls: here, counted }]
        counts.delete(holderId)
        return []
      })
      if (telling.length === 0) return
      const elsewhere = await share(telling.map(({ holderId, calls }) => ({ holderId, calls })))
      for (const { holderId, calls, counted } of telling) {
        counted.told = calls
        counted.isAsked = false
        counted.elsewhere = elsewhere.get(holderId) ?? 0
        counted.learntAtMs = monotonic.nowMs()
      }
    },
  }
}

/** Counts a call with each of these until its first end; later ends do nothing. */
function placeWith(entered: readonly Counted[]): Reservation {
  for (const counted of entered) counted.here += 1
  let left = entered
  const leave = (): void => {
    for (const counted of left) counted.here -= 1
    left = []
  }
  return { commit: leave, release: leave }
}
