import { DomainError } from '../../kernel/errors.ts'

/** What a token can be refused for. */
export type LimitedBy = 'requests' | 'tokens' | 'concurrent_tasks'

/** Clients of these wires obey no longer wait. */
const LONGEST_WAIT_MS = 60_000

const words: Readonly<Record<LimitedBy, string>> = {
  requests: 'requests a minute',
  tokens: 'tokens a minute',
  concurrent_tasks: 'tasks at a time',
}

/** A token is at a limit of its own: nothing was started. Details: limitedBy, limit, retryAfterMs. */
export function limitReached(limitedBy: LimitedBy, limit: number, waitMs: number): DomainError {
  return new DomainError(
    'rate_limited',
    `This token is at its limit of ${words[limitedBy]} (${limit})`,
    { limitedBy, limit, retryAfterMs: Math.min(Math.max(1, waitMs), LONGEST_WAIT_MS) },
  )
}
