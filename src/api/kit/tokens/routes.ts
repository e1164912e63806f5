import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import type { ManagedTokens } from '../../../app/accounts/managed-tokens.ts'
import type { Reach } from '../../../app/accounts/reach.ts'
import { type AccountRoute, byToken, KnownId, success } from '../account-surface.ts'
import { cursorMembers, readPage } from '../pages.ts'
import { boundsFailures, changeFailures, readFailures } from '../route-failures.ts'
import { readChanges, toSecret, toToken } from './view.ts'
import {
  DEFAULT_OVERLAP_S,
  RotationSchema,
  SecretAnswerSchema,
  TokenAnswerSchema,
  TokenChangesSchema,
  TokenParamsSchema,
  TokensAnswerSchema,
} from './schemas.ts'

/** What differs between the surfaces that manage tokens. */
export interface TokenSurface {
  readonly tokens: ManagedTokens
  readonly describe: (route: AccountRoute) => FastifySchema
  readonly reachOf: (request: FastifyRequest) => Reach
  /** How operations are called: `OwnToken` makes `getOwnToken`. */
  readonly noun: string
  /** Whose tokens they are, in words. */
  readonly whose: string
  /** Whether a list can be of one tenant, or of one user. */
  readonly filters: boolean
}

const filterMembers = { tenant_id: Type.Optional(KnownId), user_id: Type.Optional(KnownId) }

/** Lists, shows, changes, rotates and disables tokens below `/tokens`; making them is the surface's. */
export function tokenRoutes(instance: FastifyInstance, surface: TokenSurface): void {
  listRoute(instance, surface)
  oneRoutes(instance, surface)
  rotateRoute(instance, surface)
}

function listRoute(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, reachOf, noun, whose, filters } = surface
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describe({
    operationId: `list${noun}s`,
    summary: `Tokens of ${whose}, without secrets`,
    ok: TokensAnswerSchema,
    failures: [
      ...readFailures,
      'invalid_cursor',
      ...(filters ? (['tenant_not_found', 'user_not_found'] as const) : []),
    ],
  })
  // The wider schema is the type of both: what a surface does not describe, it refuses.
  const all = Type.Object({ ...cursorMembers, ...filterMembers })
  const querystring = filters ? all : (Type.Object(cursorMembers) as typeof all)
  app.get('/tokens', {
    schema: { ...list, querystring },
    handler: async (request) => {
      const { tenant_id: tenantId, user_id: userId } = request.query
      const { items, next_cursor } = await readPage(
        request.query,
        (page) => tokens.list(reachOf(request), { tenantId, userId, ...page }),
        ({ tokenId }) => tokenId,
      )
      return success({ items: items.map(toToken), next_cursor })
    },
  })
}

function oneRoutes(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, reachOf, noun, whose } = surface
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
    schema: one('get', `One token of ${whose}`, readFailures),
    handler: async (request) => {
      return success(toToken(await tokens.find(reachOf(request), request.params.id)))
    },
  })
  const changeSchema = one(
    'update',
    'Name, models, addresses, limits and expiry, those that are named',
    [...changeFailures, ...boundsFailures, 'token_disabled'],
  )
  app.patch('/tokens/:id', {
    schema: { ...changeSchema, body: TokenChangesSchema },
    handler: async (request) => {
      const input = { tokenId: request.params.id, changes: readChanges(request.body) }
      const { token, warnings } = await tokens.change(reachOf(request), byToken(request), input)
      return success(toToken(token), warnings)
    },
  })
  app.delete('/tokens/:id', {
    schema: one('disable', 'End a token at once; again it changes nothing', changeFailures),
    handler: async (request) => {
      const token = await tokens.disable(reachOf(request), byToken(request), request.params.id)
      return success(toToken(token))
    },
  })
}

function rotateRoute(instance: FastifyInstance, surface: TokenSurface): void {
  const { tokens, describe, reachOf, noun } = surface
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tokens/:id/rotate', {
    schema: {
      ...describe({
        operationId: `rotate${noun}`,
        summary: 'A new secret; the old one stays valid for a while',
        ok: SecretAnswerSchema,
        failures: [...changeFailures, 'token_not_found', 'token_disabled', 'token_bound_reached'],
      }),
      params: TokenParamsSchema,
      body: RotationSchema,
    },
    handler: async (request) => {
      const { overlap_seconds: overlapS = DEFAULT_OVERLAP_S } = request.body
      const input = { tokenId: request.params.id, overlapMs: overlapS * 1_000 }
      return success(toSecret(await tokens.rotate(reachOf(request), byToken(request), input)))
    },
  })
}
