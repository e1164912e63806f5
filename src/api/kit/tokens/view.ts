import type { ShownSecret } from '../../../app/accounts/managed-tokens.ts'
import type { ShownToken } from '../../../app/accounts/known-token.ts'
import { type QueryScope, tokenPrefixes } from '../../../domain/token/events.ts'
import { toTimestamp } from '../../../kernel/clock.ts'

const timeOf = (unixMs: number | undefined): string | null =>
  unixMs === undefined ? null : toTimestamp(unixMs)

const limitOf = (said: number | null | undefined): number | null | 'default' =>
  said === undefined ? 'default' : said

function toScope(scope: QueryScope) {
  const { level } = scope
  return level === 'specified_users' ? { level, user_ids: scope.userIds } : { level }
}

/** A token as it is shown: never its secret. */
export function toToken(token: ShownToken) {
  const { limits = {} } = token
  return {
    object: 'token' as const,
    id: token.tokenId,
    kind: token.kind,
    name: token.name,
    prefix: tokenPrefixes[token.kind],
    last_four: token.lastFour,
    tenant_id: token.tenantId,
    user_id: token.userId,
    models: token.models ?? null,
    addresses: token.addresses ?? null,
    limits: {
      requests_per_minute: limitOf(limits.requestsPerMinute),
      tokens_per_minute: limitOf(limits.tokensPerMinute),
      concurrent_calls: limitOf(limits.concurrentCalls),
      concurrent_tasks: limitOf(limits.concurrentTasks),
    },
    scope: token.scope === undefined ? null : toScope(token.scope),
    created_at: toTimestamp(token.issuedAtMs),
    rotated_at: timeOf(token.rotatedAtMs),
    last_used_at: timeOf(token.lastUsedAtMs),
    expires_at: timeOf(token.expiresAtMs),
    disabled_at: timeOf(token.disabledAtMs),
  }
}

/** A token with its secret, which is in this answer alone. */
export function toSecret({ token, secret }: ShownSecret) {
  return { ...toToken(token), secret }
}
