import type { Static } from 'typebox'
import type { IssueTokenInput } from '../../../app/accounts/bootstrap.ts'
import type { ShownToken } from '../../../app/accounts/known-token.ts'
import type { ShownSecret } from '../../../app/accounts/managed-tokens.ts'
import type { TokenChanges } from '../../../domain/token/changes.ts'
import { type QueryScope, tokenPrefixes } from '../../../domain/token/events.ts'
import { changedLimits, type TokenLimitChanges } from '../../../domain/token/limits.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { membersGiven } from '../../../kernel/json.ts'
import { RequestError } from '../request-error.ts'
import { timeOf } from '../time.ts'
import type { NewOwnTokenSchema, TokenChangesSchema } from './schemas.ts'

const timestampOf = (unixMs: number | undefined): string | null =>
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
    rotated_at: timestampOf(token.rotatedAtMs),
    last_used_at: timestampOf(token.lastUsedAtMs),
    expires_at: timestampOf(token.expiresAtMs),
    disabled_at: timestampOf(token.disabledAtMs),
  }
}

/** A token with its secret, which is in this answer alone. */
export function toSecret({ token, secret }: ShownSecret) {
  return { ...toToken(token), secret }
}

type TokenMembers = Static<typeof TokenChangesSchema>
type NewToken = Static<typeof NewOwnTokenSchema>

function expiryOf(text: string): string {
  return toTimestamp(timeOf(text, 'expires_at') ?? 0)
}

function limitsOf(said: NonNullable<TokenMembers['limits']>): TokenLimitChanges {
  return membersGiven({
    requestsPerMinute: said.requests_per_minute,
    tokensPerMinute: said.tokens_per_minute,
    concurrentCalls: said.concurrent_calls,
    concurrentTasks: said.concurrent_tasks,
  })
}

/** What is to be changed of a token. @throws RequestError `parameter_invalid` */
export function readChanges(body: TokenMembers): TokenChanges {
  const { name, models, addresses, limits, expires_at: expiresAt } = body
  return {
    ...(name === undefined ? {} : { name }),
    ...(models === undefined ? {} : { models }),
    ...(addresses === undefined ? {} : { addresses }),
    ...(limits === undefined ? {} : { limits: limitsOf(limits) }),
    ...(expiresAt === undefined
      ? {}
      : { expiresAt: expiresAt === null ? null : expiryOf(expiresAt) }),
  }
}

function readScope({ kind, scope: said }: NewToken): QueryScope | undefined {
  const refuse = (param: string, message: string): never => {
    throw new RequestError('parameter_invalid', `${param} ${message}`, param)
  }
  if (said === undefined) {
    if (kind === 'admin') refuse('scope', 'is required of an admin token: all_users or all_tenants')
    return kind === 'query' ? { level: 'current_user' } : undefined
  }
  const { level, user_ids: userIds } = said
  if (level !== 'specified_users') {
    if (userIds !== undefined) refuse('scope/user_ids', 'goes with specified_users')
    return { level }
  }
  return { level, userIds: userIds ?? refuse('scope/user_ids', 'must name them') }
}

/** What is said of a token that is to be made, but whose it is. @throws RequestError `parameter_invalid` */
export function readNewToken(body: NewToken): Omit<IssueTokenInput, 'tenantId' | 'userId'> {
  const { kind, name } = body
  const { models, addresses, limits, expiresAt } = readChanges(body)
  const scope = readScope(body)
  return {
    kind,
    name,
    ...(scope === undefined ? {} : { scope }),
    ...(models === undefined || models === null ? {} : { models }),
    ...(addresses === undefined || addresses === null ? {} : { addresses }),
    ...(limits === undefined ? {} : { limits: changedLimits({}, limits) }),
    ...(expiresAt === undefined || expiresAt === null ? {} : { expiresAt }),
  }
}
