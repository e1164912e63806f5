import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../kernel/clock.ts'
import { pause } from '../../../kernel/pause.ts'
import { limitReached } from './breach.ts'
import type { LimitedCaller } from './holders.ts'

/** Looks at its own, and requests that may be repetitions, of one token in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 1_200
/** So much of it may begin at once. */
const AT_ONCE_MS = 1_000
/** A turn that comes later is not waited for. */
const LONGEST_WAIT_MS = 2_000
/** Of all tokens; more are refused at once. */
const MAX_WAITING = 10_000
/** The oldest are forgotten first. */
const MAX_TOKENS = 20_000

/** Undefined: it begins at once. @throws DomainError `rate_limited` */
export type TakeTurn = (
  caller: Pick<LimitedCaller, 'tokenId' | 'kind'>,
) => Promise<void> | undefined

/**
 * Paces what a model token asks for that starts nothing, or may turn out to start nothing: statuses,
 * lists, files, and everything under an `Idempotency-Key`. Evenly, so that a minute's worth at once takes
 * no processor from the others; in memory, and not shared with other replicas: neither Postgres nor the
 * log is asked. What is refused is held as long as what waits, so that a loop of refusals is slow, too.
 */
export function createOwnRequests(
  clock: Clock,
  perMinute: number = OWN_REQUESTS_PER_MINUTE,
  longestWaitMs: number = LONGEST_WAIT_MS,
): TakeTurn {
  const everyMs = 60_000 / perMinute
  /** When the next one of a token is due if it begins none at once. */
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
