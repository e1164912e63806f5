import type { Clock } from '../../../kernel/clock.ts'
import { createLru } from '../../../kernel/lru.ts'
import { Allowance } from './allowance.ts'
import { type Holder, limitReached } from './limits.ts'

/** Holders remembered; the oldest are evicted first. */
const MAX_HOLDERS = 20_000
/** Requests a minute that may be refused at least, however low a limit is: a caller may err. */
export const LEAST_ATTEMPTS_PER_MINUTE = 5

/**
 * Bounds the cost of requests that are refused after a look-up. A limit of requests a minute counts
 * started requests (`rates.ts`), and a request is counted only after it was read completely:
 * without this bound a token at its limit, or one that names missing objects, could cause any
 * number of look-ups in the log, in Postgres and in DNS.
 *
 * An attempt is taken before the work of a request begins, so that requests at once are bounded,
 * too. It is given back unless the request is refused: what is served counts once, against the
 * limit itself. It is kept in memory and not shared with other replicas.
 */
export interface Attempts {
  /**
   * Takes an attempt from each holder with a limit of requests; undefined if there is none.
   * @throws DomainError `rate_limited`
   */
  readonly begin: (holders: readonly Holder[]) => Attempt | undefined
}

export interface Attempt {
  /** The request was not refused. Called at most once. */
  readonly release: () => void
}

export function createAttempts(clock: Clock): Attempts {
  const known = createLru<string, Allowance>(MAX_HOLDERS)
  const allowanceOf = (id: string, nowMs: number): Allowance => {
    const before = known.get(id)
    if (before !== undefined) return before
    const allowance = new Allowance(nowMs)
    known.set(id, allowance)
    return allowance
  }
  return {
    begin: (holders) => {
      const nowMs = clock.nowMs()
      const taken = holders.flatMap(({ id, whose, limits: { requestsPerMinute } }) => {
        if (requestsPerMinute === undefined) return []
        const limit = Math.max(requestsPerMinute, LEAST_ATTEMPTS_PER_MINUTE)
        return [{ whose, limit, allowance: allowanceOf(id, nowMs) }]
      })
      if (taken.length === 0) return undefined
      // All holders are checked before any is changed: a request that is refused here is not
      // counted.
      for (const { whose, limit, allowance } of taken) {
        const waitMs = allowance.waitMs(1, limit, nowMs)
        if (waitMs > 0) throw limitReached({ whose, limitedBy: 'attempts', limit, waitMs })
      }
      for (const { limit, allowance } of taken) allowance.take(1, limit, nowMs)
      return {
        release: () => {
          for (const { limit, allowance } of taken) allowance.take(-1, limit, clock.nowMs())
        },
      }
    },
  }
}
