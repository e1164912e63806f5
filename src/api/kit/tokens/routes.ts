import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { Type, type Static } from 'typebox'
import type { ManagedTokens, NewToken, ShownSecret } from '../../../app/accounts/managed-tokens.ts'
import type { AdminScope } from '../../../app/accounts/admin-scope.ts'
import { type AccountRoute, actorOf, KnownId, success } from '../routes/account-surface.ts'
import { cursorMembers, readPage, timeOf } from '../routes/queries.ts'
import { boundsFailures, changeFailures, accountReadFailures } from '../failures/route-failures.ts'
import {
  DEFAULT_OVERLAP_S,
  DisabledAnswerSchema,
  DisablingSchema,
  RotationSchema,
  SecretAnswerSchema,
  TokenAnswerSchema,
  TokenChangesSchema,
  TokenParamsSchema,
  TokensAnswerSchema,
  type NewOwnTokenSchema,
} from './schemas.ts'
import type { ShownToken } from '../../../app/accounts/known-token.ts'
import type { TokenChanges } from '../../../domain/token/changes.ts'
import { type QueryScope, tokenPrefixes, type TokenRole } from '../../../domain/token/events.ts'
import { changedLimits, type TokenLimitChanges } from '../../../domain/token/limits.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { membersGiven } from '../../../kernel/json.ts'
import { RequestError } from '../request-error.ts'

const timestampOf = (unixMs: number | undefined): string | null =>
  unixMs === undefined ? null : toTimestamp(unixMs)

const limitOf = (said: number | null | undefined): number | null | 'default' =>
  said === undefined ? 'default' : said

function toScope(scope: QueryScope) {
  const { level } = scope
  return level === 'specified_users' ? { level, user_ids: scope.userIds } : { level }
}

/** A token for display: never its secret. */
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
    role: token.role ?? null,
    subject: token.subject ?? null,
    claim: token.claim ?? null,
    issued_by: token.issuedBy ?? null,
    created_at: toTimestamp(token.issuedAtMs),
    rotated_at: timestampOf(token.rotatedAtMs),
    last_used_at: timestampOf(token.lastUsedAtMs),
    expires_at: timestampOf(token.expiresAtMs),
    disabled_at: timestampOf(token.disabledAtMs),
  }
}

/** A token with its secret, which only this answer has. */
export function toSecret({ token, secret }: ShownSecret) {
  return { ...toToken(token), secret }
}

type TokenMembers = Static<typeof TokenChangesSchema>
type NewTokenMembers = Static<typeof NewOwnTokenSchema>

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

/** The requested changes of a token. @throws RequestError `parameter_invalid` */
function readChanges(body: TokenMembers): TokenChanges {
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

function readScope({ kind, scope: said }: NewTokenMembers): QueryScope | undefined {
  const refuse = (param: string, message: string): never => {
    throw new RequestError('parameter_invalid', `${param} ${message}`, param)
  }
  if (said === undefined) {
    if (kind === 'admin')
      refuse('scope', 'is required for an admin token: all_users or all_tenants')
    return kind === 'query' ? { level: 'current_user' } : undefined
  }
  const { level, user_ids: userIds } = said
  if (level !== 'specified_users') {
    if (userIds !== undefined) refuse('scope.user_ids', 'is allowed only with specified_users')
    return { level }
  }
  return { level, userIds: userIds ?? refuse('scope.user_ids', 'is required with specified_users') }
}

/**
 * The settings of a token to be issued, without its owner. @throws RequestError `parameter_invalid`
 */
export function readNewToken(body: NewTokenMembers): Omit<NewToken, 'tenantId' | 'userId'> {
  const { kind, name, role } = body
  const { models, addresses, limits, expiresAt } = readChanges(body)
  const scope = readScope(body)
  return {
    kind,
    name,
    ...(scope === undefined ? {} : { scope }),
    ...(role === undefined ? {} : { role }),
    ...(models === undefined ? {} : { models }),
    ...(addresses === undefined ? {} : { addresses }),
    ...(limits === undefined ? {} : { limits: changedLimits({}, limits) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}

/** Differences between the surfaces that manage tokens. */
interface TokenSurface {
  readonly tokens: ManagedTokens
  readonly describe: (route: AccountRoute) => FastifySchema
  readonly adminScopeOf: (request: FastifyRequest) => AdminScope
  /** Noun of the operations: `OwnToken` makes `getOwnToken`. */
  readonly noun: string
  /** Owners of the tokens, in words. */
  readonly whose: string
  /** Whether lists can be filtered by tenant or by user. */
  readonly filters: boolean
  /** The roles of tokens that may list and show tokens; none changes, issues or rotates one. */
  readonly roles: readonly TokenRole[]
}

const filterMembers = {
  tenant_id: Type.Optional(KnownId),
  user_id: Type.Optional(KnownId),
  issued_by: Type.Optional(KnownId),
}

const allMembers = Type.Object({ ...cursorMembers, ...filterMembers })

/** A page of the tokens within a scope. */
export async function readTokens(
  tokens: ManagedTokens,
  scope: AdminScope,
  query: Static<typeof allMembers>,
) {
  const { tenant_id: tenantId, user_id: userId, issued_by: issuedBy } = query
  const { items, next_cursor } = await readPage(
    ['tokens', scope],
    query,
    (page) => tokens.list(scope, { tenantId, userId, issuedBy, ...page }),
    ({ tokenId }) => tokenId,
  )
  return { items: items.map(toToken), next_cursor }
}

/**
 * Lists, shows, changes, rotates and disables tokens below `/tokens`; each surface adds issuing.
 */
export function tokenRoutes(instance: FastifyInstance, surface: TokenSurface): void {
  listRoute(instance, surface)
  oneRoutes(instance, surface)
  disableRoute(instance, surface)
  rotateRoute(instance, surface)
}

function listRoute(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, adminScopeOf, noun, whose, filters, roles } = surface
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describe({
    operationId: `list${noun}s`,
    summary: `List the tokens of ${whose}, without secrets`,
    ok: TokensAnswerSchema,
    failures: [
      ...accountReadFailures,
      'invalid_cursor',
      ...(filters ? (['tenant_not_found', 'user_not_found'] as const) : []),
    ],
  })
  // The wider schema is the type of both: a surface refuses members that it does not describe.
  const querystring = filters ? allMembers : (Type.Object(cursorMembers) as typeof allMembers)
  app.get('/tokens', {
    config: { roles },
    schema: { ...list, querystring },
    handler: async (request) => {
      return success(await readTokens(tokens, adminScopeOf(request), request.query))
    },
  })
}

function oneRoutes(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, adminScopeOf, noun, whose, roles } = surface
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const one = (verb: string, summary: string, failures: AccountRoute['failures']) => ({
    ...describe({
      operationId: `${verb}${noun}`,
      summary,
      ok: TokenAnswerSchema,
      failures: [...failures, 'token_not_found'],
    }),
    params: TokenParamsSchema,
  })
  app.get('/tokens/:id', {
    config: { roles },
    schema: one('get', `Get a token of ${whose}`, accountReadFailures),
    handler: async (request) => {
      return success(toToken(await tokens.find(adminScopeOf(request), request.params.id)))
    },
  })
  const changeSchema = one(
    'update',
    'Change the name, models, addresses, limits or expiry of a token',
    [...changeFailures, ...boundsFailures, 'token_disabled'],
  )
  app.patch('/tokens/:id', {
    schema: { ...changeSchema, body: TokenChangesSchema },
    handler: async (request) => {
      const { reason } = request.body
      const input = { tokenId: request.params.id, changes: readChanges(request.body), reason }
      const by = actorOf(request)
      const { token, warnings } = await tokens.change(adminScopeOf(request), by, input)
      return success(toToken(token), warnings)
    },
  })
}

function disableRoute(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, adminScopeOf, noun } = surface
  instance.withTypeProvider<TypeBoxTypeProvider>().delete('/tokens/:id', {
    schema: {
      ...describe({
        operationId: `disable${noun}`,
        summary: 'Disable a token immediately, and on request the tokens it issued',
        ok: DisabledAnswerSchema,
        failures: [
          ...changeFailures.filter((code) => code !== 'storage_full'),
          'token_not_found',
          'read_model_behind',
        ],
      }),
      params: TokenParamsSchema,
      querystring: DisablingSchema,
    },
    handler: async (request) => {
      const { issued: withIssued, reason } = request.query
      const input = { tokenId: request.params.id, withIssued: withIssued === 'true', reason }
      const { token, issued } = await tokens.disable(adminScopeOf(request), actorOf(request), input)
      const warnings =
        issued.active === 0 ? [] : [`${issued.active} tokens that it issued still work`]
      return success({ ...toToken(token), issued }, warnings)
    },
  })
}

function rotateRoute(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, adminScopeOf, noun } = surface
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tokens/:id/rotate', {
    schema: {
      ...describe({
        operationId: `rotate${noun}`,
        summary: 'Give a token a new secret; the old one stays valid for a while',
        ok: SecretAnswerSchema,
        failures: [...changeFailures, 'token_not_found', 'token_disabled', 'token_bound_reached'],
      }),
      params: TokenParamsSchema,
      body: RotationSchema,
    },
    handler: async (request) => {
      const { overlap_seconds: overlapS = DEFAULT_OVERLAP_S, reason } = request.body
      const input = { tokenId: request.params.id, overlapMs: overlapS * 1_000, reason }
      return success(toSecret(await tokens.rotate(adminScopeOf(request), actorOf(request), input)))
    },
  })
}
