import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ManagedTokens } from '../../app/accounts/managed-tokens.ts'
import {
  type AccountRoute,
  actorOf,
  describeAccount,
  success,
} from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { boundsFailures, changeFailures } from '../kit/failures/route-failures.ts'
import { readNewToken, toSecret, tokenRoutes } from '../kit/tokens/routes.ts'
import { NewOwnTokenSchema, SecretAnswerSchema } from '../kit/tokens/schemas.ts'
import { userEnvelope } from './envelope.ts'

const describe = (route: AccountRoute) => describeAccount(userEnvelope, 'profileToken', route)

/** The holder of a profile token manages the tokens of its user. */
function adminScopeOf(request: FastifyRequest) {
  const { tenantId, userId } = principalOf(request)
  return { kind: 'user', tenantId, userId } as const
}

/** The tokens of a user: never with higher limits than the operator allows every user. */
export function ownTokenRoutes(instance: FastifyInstance, tokens: ManagedTokens): void {
  const surface = {
    tokens,
    describe,
    adminScopeOf,
    noun: 'OwnToken',
    whose: 'the user',
    filters: false,
    roles: [],
  }
  tokenRoutes(instance, surface)
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tokens', {
    schema: {
      ...describe({
        operationId: 'createOwnToken',
        summary: 'Issue a model token, or a query token of the user',
        ok: SecretAnswerSchema,
        failures: [...changeFailures, ...boundsFailures, 'body_empty', 'token_scope_invalid'],
      }),
      body: NewOwnTokenSchema,
    },
    handler: async (request) => {
      const adminScope = adminScopeOf(request)
      const { tenantId, userId } = adminScope
      const input = { tenantId, userId, ...readNewToken(request.body) }
      const issued = await tokens.issue(adminScope, actorOf(request), input)
      return success(toSecret(issued), issued.warnings)
    },
  })
}
