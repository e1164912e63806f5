import type { QueryScope, TokenKind } from '../../domain/token/events.ts'
import type { Limits } from '../spending/throttle/holders.ts'

/** Who is calling: what a valid token stands for. */
export interface Principal {
  readonly tokenId: string
  readonly kind: TokenKind
  readonly tenantId: string
  readonly userId: string
  /** External model names this token may use; undefined means all. */
  readonly models: ReadonlySet<string> | undefined
  /** Ranges of addresses (CIDR) it may be used from; undefined means from anywhere. */
  readonly addresses: readonly string[] | undefined
  /** Undefined means none. */
  readonly limits: Limits | undefined
  /** Of query tokens only. */
  readonly scope: QueryScope | undefined
}

/** `too_many_unknown`: of secrets nobody has, from there; this one was not looked up, or is one more of them. */
export type Refused =
  | { readonly reason: 'unknown' | 'expired' | 'disabled' | 'unavailable' }
  | { readonly reason: 'too_many_unknown'; readonly waitMs: number }

/**
 * Looks a bearer secret up: cached, refreshed from the log, constant time, never throws. `address` is where
 * the caller is, where that is known.
 */
export type Authenticate = (
  secret: string,
  address?: string,
) => Promise<
  { readonly ok: true; readonly principal: Principal } | ({ readonly ok: false } & Refused)
>
