import { createLru } from '../../../kernel/lru.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { pause } from '../../../kernel/pause.ts'
import { Allowance } from './allowance.ts'
import { type Breach, limitReached } from './limits.ts'

/** Requests a minute of one token in one process that are not billed, if no operator says otherwise (P10). */
export const FREE_REQUESTS_PER_MINUTE = 300
/** Requests a minute of one address in one process that are refused before their work begins, by default. */
export const REFUSED_FORMS_PER_MINUTE = 1_200
/** Tokens or addresses remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000
/** A refusal comes after this long, so that a loop of refused requests is slow, too. */
const REFUSED_AFTER_MS = 2_000
/** Maximum number of delayed refusals, over all tokens; further ones are sent immediately. */
const MAX_WAITING = 10_000

/**
 * Bounds the unbilled work that a token may cause: uploads, changes of accounts, and calls and
 * creations that are refused because of their content. A billed request compensates one unbilled
 * request, so that a busy token with some refusals is never limited. It is kept in memory and not
 * shared with other replicas.
 */
export interface FreeRequests {
  /** Before a request that may turn out not to be billed. @throws DomainError `rate_limited` */
  readonly begin: (tokenId: string) => Promise<never> | undefined
  /** Counts a request that is not billed. */
  readonly count: (tokenId: string) => void
  /** Gives one back, for a request that was served. */
  readonly served: (tokenId: string) => void
}

/** The bound by address, for requests that are refused for their form or without a known token. */
export function createRefusals(
  clock: Clock,
  perMinute: number = REFUSED_FORMS_PER_MINUTE,
  refusedAfterMs?: number,
): FreeRequests {
  const of = { whose: 'address', limitedBy: 'refused_forms' } as const
  return createFreeRequests(clock, perMinute, refusedAfterMs, of)
}

export function createFreeRequests(
  clock: Clock,
  perMinute: number = FREE_REQUESTS_PER_MINUTE,
  refusedAfterMs: number = REFUSED_AFTER_MS,
  of: Pick<Breach, 'whose' | 'limitedBy'> = { whose: 'token', limitedBy: 'free_requests' },
): FreeRequests {
  const tokens = createLru<string, Allowance>(MAX_KEYS)
  let waiting = 0
  const refuse = async (waitMs: number): Promise<never> => {
    if (waiting < MAX_WAITING) {
      waiting += 1
      await pause(refusedAfterMs)
      waiting -= 1
    }
    throw limitReached({ ...of, limit: perMinute, waitMs })
  }
  return {
    begin: (tokenId) => {
      const waitMs = tokens.get(tokenId)?.waitMs(1, perMinute, clock.nowMs()) ?? 0
      return waitMs > 0 ? refuse(waitMs) : undefined
    },
    count: (tokenId) => {
      const nowMs = clock.nowMs()
      const known = tokens.get(tokenId) ?? new Allowance(nowMs)
      known.take(1, perMinute, nowMs)
      tokens.set(tokenId, known)
    },
    served: (tokenId) => {
      tokens.get(tokenId)?.take(-1, perMinute, clock.nowMs())
    },
  }
}
