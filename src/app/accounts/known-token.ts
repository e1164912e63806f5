import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { TokenRow } from '../../../projections/access/query.ts'
import type { IssuedToken } from '../../domain/token/decider.ts'
import { lastUsesOf } from './last-uses.ts'
import { fromTimestamp } from '../../kernel/clock.ts'

/** A token without its secret, which is stored nowhere. Times are unix milliseconds. */
export type KnownToken = Omit<TokenRow, 'disabledReason'>

/** A token as the API shows it. */
export interface ShownToken extends KnownToken {
  /** About a minute late; undefined: never, as far as is known. */
  readonly lastUsedAtMs: number | undefined
}

/** Adds when the tokens were last used. */
export async function shownTokens(
  db: Queryable,
  tokens: readonly KnownToken[],
): Promise<readonly ShownToken[]> {
  const uses = await lastUsesOf(
    db,
    tokens.map(({ tokenId }) => tokenId),
  )
  return tokens.map((token) => ({ ...token, lastUsedAtMs: uses.get(token.tokenId) }))
}

/** A token by the events of its stream. */
export function knownToken(tokenId: string, token: IssuedToken): KnownToken {
  const msOf = (time: string | undefined): number | undefined =>
    time === undefined ? undefined : fromTimestamp(time)
  return {
    tokenId,
    tenantId: token.tenantId,
    userId: token.userId,
    kind: token.kind,
    name: token.name,
    scope: token.scope,
    role: token.role,
    models: token.models,
    addresses: token.addresses,
    limits: token.limits,
    lastFour: token.lastFour,
    issuedBy: token.issuedBy,
    issuedAtMs: fromTimestamp(token.issuedAt),
    rotatedAtMs: msOf(token.rotatedAt),
    expiresAtMs: msOf(token.expiresAt),
    disabledAtMs: msOf(token.disabledAt),
  }
}
