import { sharerOf } from '../../../domain/token/sharer.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { createLru } from '../../../kernel/lru.ts'
import { Allowance } from './allowance.ts'
import { FREE_REQUESTS_PER_MINUTE } from './free-requests.ts'
import { limitReached, rateKeysOf } from './limits.ts'

/** Requests of one token in one process that count the tokens of a prompt (P10). */
export const COUNTS_PER_MINUTE = 120
export const COUNTS_AT_ONCE = 8
/** A count takes no longer than a few seconds, so a refused caller may retry soon. */
const RETRY_AFTER_MS = 1_000
/** Tokens, users and tenants remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000

/** Takes a place for one count; the result gives it back. @throws DomainError `rate_limited` */
export type TakeCount = (caller: Parameters<typeof sharerOf>[0]) => () => void

/**
 * Limits the counts of tokens, which are not billed: those of a token, at once and a minute, and those
 * of a user and a tenant a minute. They are counted separately from other unbilled requests, so that
 * no number of them takes anything from calls. It is kept in memory and not shared with other replicas.
 */
export function createTokenCounts(
  clock: Clock,
  perUserMinute: number = FREE_REQUESTS_PER_MINUTE,
): TakeCount {
  const known = createLru<string, Allowance>(MAX_KEYS)
  const running = new Map<string, number>()
  return (caller) => {
    const { tokenId } = caller
    const under = running.get(tokenId) ?? 0
    if (under >= COUNTS_AT_ONCE)
      throw limitReached({
        whose: 'token',
        limitedBy: 'concurrent_counts',
        limit: COUNTS_AT_ONCE,
        waitMs: RETRY_AFTER_MS,
      })
    const nowMs = clock.nowMs()
    const ofToken = {
      key: `counting\n${tokenId}`,
      whose: 'token',
      limit: COUNTS_PER_MINUTE,
    } as const
    const keys = [ofToken, ...rateKeysOf(sharerOf(caller), perUserMinute)]
    // All limits are checked before any is used: a refused count is not counted.
    for (const { key, whose, limit } of keys) {
      const waitMs = known.get(key)?.waitMs(1, limit, nowMs) ?? 0
      if (waitMs > 0) throw limitReached({ whose, limitedBy: 'counts', limit, waitMs })
    }
    for (const { key, limit } of keys) {
      const allowance = known.get(key) ?? new Allowance(nowMs)
      allowance.take(1, limit, nowMs)
      known.set(key, allowance)
    }
    running.set(tokenId, under + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const left = (running.get(tokenId) ?? 1) - 1
      if (left > 0) running.set(tokenId, left)
      else running.delete(tokenId)
    }
  }
}
