import type { TokenLimits } from '../../../domain/token/events.ts'
import { type LimitName, limitNames } from '../../../domain/token/limits.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type Sharer, TENANT_FOLD } from '../../../kernel/sharers.ts'

/** Holder of the limit. */
export type Whose = 'token' | 'user' | 'tenant'

/** A token, user or tenant whose limits a request counts against. */
export interface Holder {
  readonly whose: Whose
  /** Distinct from every other holder's, of any tenant. */
  readonly id: string
  readonly limits: Limits
}

/** One of the keys that a rate of the gateway's own is counted under. */
export interface RateKey {
  readonly key: string
  readonly whose: Whose
  readonly limit: number
}

/**
 * The keys that a rate of the gateway's own is counted under: the user, whatever its tokens, and the
 * tenant, whatever its users. The limit is that of one user.
 */
export function rateKeysOf({ user, tenant }: Sharer, limit: number): readonly RateKey[] {
  const ofUser: RateKey = { key: user, whose: 'user', limit }
  // Requests without a known token have one key for both: that of their address.
  if (user === tenant) return [ofUser]
  return [ofUser, { key: tenant, whose: 'tenant', limit: limit * TENANT_FOLD }]
}

/** Limits per minute and of concurrent work; undefined is no limit. */
export interface Limits {
  /** Calls and creations of tasks. */
  readonly requestsPerMinute: number | undefined
  /** Tokens of text calls, in and out. */
  readonly tokensPerMinute: number | undefined
  /** Synchronous calls in flight. */
  readonly concurrentCalls: number | undefined
  /** Asynchronous tasks that have not ended. */
  readonly concurrentTasks: number | undefined
}

export const noLimits: Limits = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentCalls: undefined,
  concurrentTasks: undefined,
}

/** The token's limits, with the operator's defaults for unset ones; undefined is none. */
export function limitsInForce(own: TokenLimits | undefined, defaults: Limits): Limits | undefined {
  const inForce = (name: LimitName): number | undefined => {
    const said = own?.[name]
    return said === undefined ? defaults[name] : (said ?? undefined)
  }
  const limits = limitNames.map((name) => [name, inForce(name)] as const)
  if (limits.every(([, limit]) => limit === undefined)) return undefined
  return { ...noLimits, ...Object.fromEntries(limits) }
}

/** The limits that a request can be refused for. */
type LimitedBy =
  | 'requests'
  | 'attempts'
  | 'tokens'
  | 'own_requests'
  | 'free_requests'
  | 'refused_forms'
  | 'sign_ins'
  | 'concurrent_calls'
  | 'concurrent_tasks'
  | 'absorbed_cost'
  | 'counts'
  | 'concurrent_counts'

/** Clients of these protocols honour no longer wait. */
const LONGEST_WAIT_MS = 60_000

const words: Readonly<Record<LimitedBy, string>> = {
  requests: 'requests a minute',
  attempts: 'requests a minute, including refused ones',
  tokens: 'tokens a minute',
  free_requests: 'unbilled requests a minute',
  refused_forms: 'requests a minute that are refused for their form or token',
  sign_ins: 'sign-ins a minute',
  own_requests: 'reads and repeatable requests a minute',
  concurrent_calls: 'calls at a time',
  concurrent_tasks: 'tasks at a time',
  counts: 'requests a minute that count tokens',
  concurrent_counts: 'requests at a time that count tokens',
  absorbed_cost: 'failed calls whose cost it is not charged, in units of currency an hour',
}
const subjects: Readonly<Record<Breach['whose'], string>> = {
  address: 'This address',
  token: 'This token',
  user: 'This user',
  tenant: 'The tenant',
}

/** A limit that was reached, and how long to wait before a retry. */
export interface Breach {
  readonly whose: Whose | 'address'
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
