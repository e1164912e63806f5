import type { Clock } from '../../kernel/clock.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { Allowance } from './allowance.ts'
import { limitReached } from './breach.ts'
import type { LimitedCaller } from './holders.ts'

/** Looks at its own, and requests that may be repetitions, of one token in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 6_000
/** The oldest are forgotten first. */
const MAX_TOKENS = 20_000

/**
 * Counts what a model token asks for that starts nothing, or may turn out to start nothing: statuses,
 * lists, files, and everything under an `Idempotency-Key`. In memory, and not shared with other
 * replicas: neither Postgres nor the log is asked. @throws DomainError `rate_limited`
 */
export function createOwnRequests(
  clock: Clock,
  perMinute: number = OWN_REQUESTS_PER_MINUTE,
): (caller: Pick<LimitedCaller, 'tokenId' | 'kind'>) => void {
  const allowances = new BoundedMap<string, Allowance>(MAX_TOKENS)
  return ({ tokenId, kind }) => {
    if (kind !== 'model') return
    const nowMs = clock.nowMs()
    const allowance = allowances.get(tokenId) ?? new Allowance(nowMs)
    const waitMs = allowance.waitMs(1, perMinute, nowMs)
    if (waitMs > 0)
      throw limitReached({ whose: 'token', limitedBy: 'own_requests', limit: perMinute, waitMs })
    allowance.take(1, perMinute, nowMs)
    allowances.set(tokenId, allowance)
  }
}
