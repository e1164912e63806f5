import type { QueryScope, TokenKind, TokenRole } from '../../domain/token/events.ts'
import type { Limits } from '../spending/throttle/limits.ts'

/** A token and whose it is. */
export interface TokenOwner {
  readonly tokenId: string
  readonly tenantId: string
  readonly userId: string
}

/** The caller, by its valid token. */
export interface Principal extends TokenOwner {
  readonly kind: TokenKind
  /** External model names this token may use; undefined means all. */
  readonly models: ReadonlySet<string> | undefined
  /** Ranges of addresses (CIDR) it may be used from; undefined means from anywhere. */
  readonly addresses: readonly string[] | undefined
  /** Undefined means none. */
  readonly limits: Limits | undefined
  /** For query and admin tokens only. */
  readonly scope: QueryScope | undefined
  /** For query and admin tokens only; undefined: everything within its scope. */
  readonly role: TokenRole | undefined
}

/** `too_many_unknown`: the address tried too many unknown secrets, with this one or before it. */
export type Refused =
  | { readonly reason: 'unknown' | 'unavailable' }
  | { readonly reason: 'expired' | 'disabled'; readonly token: TokenOwner }
  | { readonly reason: 'too_many_unknown'; readonly waitMs: number }

/**
 * Looks up a bearer secret: cached, refreshed from the log, in constant time; never throws.
 * `address` is the caller's, if known.
 */
export type Authenticate = (secret: string, address?: string) => Promise<Authenticated>

/** Looks up the secret of an accepted token again, by its hash; never throws. */
export type Resume = (secretHash: string) => Promise<Authenticated>

/**
 * What this process knows of the secret of an accepted token, by its hash, for the state of the process
 * alone while tokens cannot be looked up. A token that an event has changed since is not known.
 */
export type Recall = (secretHash: string) => Authenticated

export type Authenticated =
  | { readonly ok: true; readonly principal: Principal }
  | ({ readonly ok: false } & Refused)
