import { DomainError } from '../../../kernel/errors.ts'
import type { Whose } from './holders.ts'

/** The limits that a request can be refused for. */
type LimitedBy = 'requests' | 'tokens' | 'own_requests' | 'concurrent_calls' | 'concurrent_tasks'

/** Clients of these protocols honour no longer wait. */
const LONGEST_WAIT_MS = 60_000

const words: Readonly<Record<LimitedBy, string>> = {
  requests: 'requests a minute',
  tokens: 'tokens a minute',
  own_requests: 'looks and requests that may be repeated a minute',
  concurrent_calls: 'calls at a time',
  concurrent_tasks: 'tasks at a time',
}
const subjects: Readonly<Record<Whose, string>> = {
  token: 'This token',
  user: 'This user',
  tenant: 'The tenant',
}

/** A limit that was reached, and how long to wait before a retry. */
interface Breach {
  readonly whose: Whose
  readonly limitedBy: LimitedBy
  readonly limit: number
  readonly waitMs: number
}

/** A limit was reached: nothing was started. Details: whose, limitedBy, limit, retryAfterMs. */
export function limitReached({ whose, limitedBy, limit, waitMs }: Breach): DomainError {
  return new DomainError(
    'rate_limited',
    `${subjects[whose]} is at its limit of ${words[limitedBy]} (${limit})`,
    { whose, limitedBy, limit, retryAfterMs: Math.min(Math.max(1, waitMs), LONGEST_WAIT_MS) },
  )
}
