import type { Clock } from '../../../kernel/clock.ts'
import type { Reservation } from '../reservation.ts'
import { limitReached } from './breach.ts'
import type { Holder } from './holders.ts'

/** Calls end at any time; who is refused may try again soon. */
const RETRY_AFTER_MS = 1_000
/** What was learnt of the other replicas counts for so long. */
const LEARNT_FOR_MS = 10_000

/** What this replica has under way of a holder. */
export interface OwnCalls {
  readonly holderId: string
  readonly calls: number
}

/** Tells what this replica has under way, and learns by holder id what all others have. */
export type ShareCalls = (own: readonly OwnCalls[]) => Promise<ReadonlyMap<string, number>>

/**
 * Synchronous calls under way of every holder whose number is limited. Counted in memory, and told to the
 * other replicas about once a second: a replica that has heard nothing yet counts its own alone, so that
 * together they have at most the limit once more for every further one, and nothing more begins until
 * that is over.
 */
export interface CallsUnderWay {
  /** A place with every holder; undefined where none limits. @throws DomainError `rate_limited` */
  readonly enter: (holders: readonly Holder[]) => Reservation | undefined
  /** How many are known to be under way, here and elsewhere. */
  readonly of: (holderId: string) => number
  /** @throws what `share` throws: told again then */
  readonly exchange: (share: ShareCalls) => Promise<void>
}

interface Counted {
  here: number
  elsewhere: number
  learntAtMs: number
  /** What the others were told last. */
  told: number
  /** Whether anybody asked since they were told. */
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
        // Whoever asked lately stays informed while others are busy.
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

/** Counts a call with each of these until it ends, however often that is reported. */
function placeWith(entered: readonly Counted[]): Reservation {
  for (const counted of entered) counted.here += 1
  let left = entered
  const leave = (): void => {
    for (const counted of left) counted.here -= 1
    left = []
  }
  return { commit: leave, release: leave }
}
