import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { boundsFailures, changeFailures } from '../kit/failures/route-failures.ts'
import { readNewToken, toSecret, toToken, tokenRoutes } from '../kit/tokens/routes.ts'
import { actorOf, success } from '../kit/routes/account-surface.ts'
import { IssuedAnswerSchema, NewTokenSchema } from '../kit/tokens/schemas.ts'
import { membersGiven } from '../../kernel/json.ts'
import type { Services } from '../kit/services.ts'
import { describeAdmin, adminScopeOf } from './envelope.ts'

/** Tokens of every kind and of every user within the scope of the admin token. */
export function adminTokenRoutes(
  instance: FastifyInstance,
  { tokens }: Pick<Services['accounts'], 'tokens'>,
): void {
  const whose = 'all users that the admin token can manage'
  tokenRoutes(instance, {
    tokens,
    describe: describeAdmin,
    adminScopeOf,
    noun: 'Token',
    whose,
    filters: true,
    roles: ['support'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tokens', {
    schema: {
      ...describeAdmin({
        operationId: 'createToken',
        summary: 'Issue a token for a user of a tenant, or invite a person who signs in by name',
        ok: IssuedAnswerSchema,
        failures: [
          ...changeFailures,
          ...boundsFailures,
          'body_empty',
          'token_scope_invalid',
          'tenant_not_found',
          'user_not_found',
        ],
      }),
      body: NewTokenSchema,
    },
    handler: async (request) => {
      const { tenant_id: tenantId, user_id: userId, subject, ...token } = request.body
      const input = { tenantId, userId, ...membersGiven({ subject }), ...readNewToken(token) }
      const issued = await tokens.issue(adminScopeOf(request), actorOf(request), input)
      // With the secret, the one who invites could act under the person's name.
      const answer =
        subject === undefined ? toSecret(issued) : { ...toToken(issued.token), secret: null }
      return success(answer, issued.warnings)
    },
  })
}
