import { createLru } from '../../../kernel/lru.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { pause } from '../../../kernel/pause.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import { Allowance } from './allowance.ts'
import { type Breach, limitReached, rateKeysOf } from './limits.ts'

/** Requests a minute of one user in one process that are not billed, if no operator says otherwise (P10). */
export const FREE_REQUESTS_PER_MINUTE = 300
/** Requests a minute of one address in one process that are refused before their work begins, by default. */
export const REFUSED_FORMS_PER_MINUTE = 1_200
/** Users, tenants and addresses remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000
/** A refusal comes after this long, so that a loop of refused requests is slow, too. */
const REFUSED_AFTER_MS = 2_000
/** Maximum number of delayed refusals, over all callers; further ones are sent immediately. */
const MAX_WAITING = 10_000

/**
 * Bounds the unbilled work that a user, and a tenant, may cause: uploads, changes of accounts, and calls and
 * creations that are refused because of their content. A billed request compensates one unbilled
 * request, so that a busy user with some refusals is never limited. It is kept in memory and not
 * shared with other replicas.
 */
export interface FreeRequests {
  /** Before a request that may turn out not to be billed. @throws DomainError `rate_limited` */
  readonly begin: (sharer: Sharer) => Promise<never> | undefined
  /** Counts a request that is not billed. */
  readonly count: (sharer: Sharer) => void
  /** Gives one back, for a request that was served. */
  readonly served: (sharer: Sharer) => void
}

/** The bound by address, for requests that are refused for their form or without a known token. */
export function createRefusalBound(
  clock: Clock,
  perMinute: number = REFUSED_FORMS_PER_MINUTE,
  refusedAfterMs?: number,
): FreeRequests {
  return createFreeRequests(clock, perMinute, refusedAfterMs, 'refused_forms')
}

export function createFreeRequests(
  clock: Clock,
  perMinute: number = FREE_REQUESTS_PER_MINUTE,
  refusedAfterMs: number = REFUSED_AFTER_MS,
  limitedBy: 'free_requests' | 'refused_forms' = 'free_requests',
): FreeRequests {
  const known = createLru<string, Allowance>(MAX_KEYS)
  let waiting = 0
  const refuse = async (breach: Breach): Promise<never> => {
    if (waiting < MAX_WAITING) {
      waiting += 1
      await pause(refusedAfterMs)
      waiting -= 1
    }
    throw limitReached(breach)
  }
  return {
    begin: (sharer) => {
      for (const { key, whose, limit } of rateKeysOf(sharer, perMinute)) {
        const waitMs = known.get(key)?.waitMs(1, limit, clock.nowMs()) ?? 0
        const of = limitedBy === 'refused_forms' ? 'address' : whose
        if (waitMs > 0) return refuse({ whose: of, limitedBy, limit, waitMs })
      }
      return undefined
    },
    count: (sharer) => {
      const nowMs = clock.nowMs()
      for (const { key, limit } of rateKeysOf(sharer, perMinute)) {
        const allowance = known.get(key) ?? new Allowance(nowMs)
        allowance.take(1, limit, nowMs)
        known.set(key, allowance)
      }
    },
    served: (sharer) => {
      const nowMs = clock.nowMs()
      for (const { key, limit } of rateKeysOf(sharer, perMinute))
        known.get(key)?.take(-1, limit, nowMs)
    },
  }
}

/** Reads, and requests that may be retries, of one user in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 1_200
/** Share of the limit that may begin in one burst. */
const AT_ONCE_MS = 1_000
/** A request whose turn comes later is refused. */
const LONGEST_WAIT_MS = 2_000

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
