import type { Clock } from '../../../kernel/clock.ts'
import { createLru } from '../../../kernel/lru.ts'
import { pause } from '../../../kernel/pause.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import { type Breach, limitReached, rateKeysOf } from './limits.ts'

/** Reads, and requests that may be retries, of one user in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 1_200
/** Share of the limit that may begin in one burst. */
const AT_ONCE_MS = 1_000
/** A request whose turn comes later is refused. */
const LONGEST_WAIT_MS = 2_000
/** Maximum number of waiting requests, over all users; further ones are refused immediately. */
const MAX_WAITING = 10_000
/** Users and tenants remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000

/** Undefined: the request begins immediately. @throws DomainError `rate_limited` */
export type TakeTurn = (sharer: Sharer) => Promise<void> | undefined

/**
 * Paces requests of model tokens, by user and by tenant, that start no work, or possibly none: statuses, lists, files, and
 * all requests with an `Idempotency-Key`. The pace is even, so that a burst does not take the
 * processor from others. It is kept in memory and not shared with other replicas, so it
 * queries neither Postgres nor the log. A refusal is delayed as long as a wait, so that a loop of
 * refused requests is slow, too.
 */
export function createOwnRequests(
  clock: Clock,
  perMinute: number = OWN_REQUESTS_PER_MINUTE,
  longestWaitMs: number = LONGEST_WAIT_MS,
): TakeTurn {
  /**
   * Time at which the next request of a key is due at the even pace; a burst may start earlier.
   */
  const due = createLru<string, number>(MAX_KEYS)
  let waiting = 0
  const wait = async (ms: number): Promise<void> => {
    waiting += 1
    await pause(ms)
    waiting -= 1
  }
  const refuse = async (breach: Breach): Promise<never> => {
    if (waiting < MAX_WAITING) await wait(longestWaitMs)
    throw limitReached(breach)
  }
  return (sharer) => {
    const nowMs = clock.nowMs()
    const turns = rateKeysOf(sharer, perMinute).map(({ key, whose, limit }) => {
      const everyMs = 60_000 / limit
      const dueMs = Math.max(nowMs, due.get(key) ?? nowMs)
      const waitMs = dueMs - nowMs - Math.max(0, AT_ONCE_MS - everyMs)
      return { key, whose, limit, waitMs, nextMs: dueMs + everyMs }
    })
    const last = turns.reduce((one, other) => (other.waitMs > one.waitMs ? other : one))
    const { waitMs, whose, limit } = last
    if (waitMs > longestWaitMs || (waitMs > 0 && waiting >= MAX_WAITING))
      return refuse({ whose, limitedBy: 'own_requests', limit, waitMs })
    for (const { key, nextMs } of turns) due.set(key, nextMs)
    return waitMs > 0 ? wait(waitMs) : undefined
  }
}
