import type { Clock } from '../../kernel/clock.ts'
import type { TokenKind } from '../../domain/token/events.ts'
import { noLimits } from './limits.ts'
import { createRates } from './rates.ts'

/** Looks at its own, and requests that may be repetitions, of one token in one process (P10). */
export const OWN_REQUESTS_PER_MINUTE = 6_000

/**
 * Counts what a model token asks for that starts nothing, or may turn out to start nothing: statuses,
 * lists, files, and everything under an `Idempotency-Key`. In memory, before Postgres or the log is
 * asked. @throws DomainError `rate_limited`
 */
export function createOwnRequests(
  clock: Clock,
  perMinute: number = OWN_REQUESTS_PER_MINUTE,
): (caller: { readonly tokenId: string; readonly kind: TokenKind }) => void {
  const rates = createRates(clock)
  const limits = { ...noLimits, requestsPerMinute: perMinute }
  return ({ tokenId, kind }) => {
    if (kind === 'model') rates.take([{ whose: 'token', id: tokenId, limits }])
  }
}
