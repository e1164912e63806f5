import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../kernel/clock.ts'
import { pause } from '../../../kernel/pause.ts'
import { limitReached } from './breach.ts'
import type { LimitedCaller } from './holders.ts'

/** Reads, and requests that may be retries, of one token in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 1_200
/** This much of it may begin at once. */
const AT_ONCE_MS = 1_000
/** A request whose turn comes later is refused. */
const LONGEST_WAIT_MS = 2_000
/** Requests waiting, over all tokens; further ones are refused at once. */
const MAX_WAITING = 10_000
/** Tokens remembered; the oldest are evicted first. */
const MAX_TOKENS = 20_000

/** Undefined: the request begins at once. @throws DomainError `rate_limited` */
export type TakeTurn = (
  caller: Pick<LimitedCaller, 'tokenId' | 'kind'>,
) => Promise<void> | undefined

/**
 * Paces requests of a model token that start nothing, or may turn out to start nothing: statuses,
 * lists, files, and everything under an `Idempotency-Key`. The pace is even, so that a burst does
 * not take the processor from other tokens. It is kept in memory and not shared with other
 * replicas, so it queries neither Postgres nor the log. A refusal is delayed as long as a wait, so
 * that a loop of refused requests is slow, too.
 */
export function createOwnRequests(
  clock: Clock,
  perMinute: number = OWN_REQUESTS_PER_MINUTE,
  longestWaitMs: number = LONGEST_WAIT_MS,
): TakeTurn {
  const everyMs = 60_000 / perMinute
  /** When the next request of a token is due at the even pace; a burst may start before that. */
  const due = new LRUCache<string, number>({ max: MAX_TOKENS })
  let waiting = 0
  const wait = async (ms: number): Promise<void> => {
    waiting += 1
    await pause(ms)
    waiting -= 1
  }
  const refuse = async (waitMs: number): Promise<never> => {
    if (waiting < MAX_WAITING) await wait(longestWaitMs)
    throw limitReached({ whose: 'token', limitedBy: 'own_requests', limit: perMinute, waitMs })
  }
  return ({ tokenId, kind }) => {
    if (kind !== 'model') return undefined
    const nowMs = clock.nowMs()
    const dueMs = Math.max(nowMs, due.get(tokenId) ?? nowMs)
    const waitMs = dueMs - nowMs - Math.max(0, AT_ONCE_MS - everyMs)
    if (waitMs > longestWaitMs || (waitMs > 0 && waiting >= MAX_WAITING)) return refuse(waitMs)
    due.set(tokenId, dueMs + everyMs)
    return waitMs > 0 ? wait(waitMs) : undefined
  }
}
