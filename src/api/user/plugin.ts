import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { describeAccount, success, successOf } from '../kit/routes/account-surface.ts'
import { principalOf, requireToken, useQueryBounds } from '../kit/tokens/authenticate.ts'
import { BalanceAccountSchema, toBalanceAccount } from '../kit/answers/balances.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { strictBodies, useJsonBody } from '../kit/bodies/json-body.ts'
import { useNoStore } from '../kit/answers/answer-headers.ts'
import type { Services } from '../kit/services.ts'
import { balanceFailures, userEnvelope } from './envelope.ts'
import { ownTokenRoutes } from './tokens.ts'

/** Bodies about a token have a few names and numbers. */
const BODY_LIMIT_BYTES = 64 * 1024

const BalanceQuerySchema = Type.Object({
  currency: Type.Optional(Type.Enum(['CNY', 'USD'])),
})

const BalanceAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('balance'),
    tenant_id: Type.String(),
    user_id: Type.String({ description: 'User of the token.' }),
    accounts: Type.Array(BalanceAccountSchema),
    uploads: Type.Object(
      {
        files: Type.Integer(),
        files_limit: Type.Integer(),
        bytes: Type.Integer(),
        bytes_limit: Type.Integer(),
      },
      { description: 'Stored uploads of the tenant, including those in progress.' },
    ),
    as_of: Type.Union([Type.String(), Type.Null()], {
      description: 'Log position up to which the ledger was read.',
    }),
    updated_at: Type.Integer({ description: 'Time of the answer, in Unix seconds.' }),
  }),
)

/** The routes of profile tokens, registered under `/api/user`. */
export function userPlugin(
  services: Pick<Services, 'clock' | 'tokens' | 'throttle' | 'files' | 'accounts' | 'http'>,
) {
  const {
    clock,
    accounts,
    files: { quota },
  } = services
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, userEnvelope)
    useNoStore(instance)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, services, 'profile')
    useQueryBounds(instance, services)
    instance.setValidatorCompiler(strictBodies)
    ownTokenRoutes(instance, accounts.tokens)
    instance.withTypeProvider<TypeBoxTypeProvider>().get('/balance', {
      schema: {
        ...describeAccount(userEnvelope, 'profileToken', {
          operationId: 'getOwnBalance',
          summary: 'Get the balance of the tenant of the token, per currency',
          ok: BalanceAnswerSchema,
          failures: balanceFailures,
        }),
        querystring: BalanceQuerySchema,
      },
      handler: async (request) => {
        const { tenantId, userId } = principalOf(request)
        const { byTenant, asOf } = await accounts.balances([tenantId], request.query.currency)
        const use = await quota.useOf(tenantId)
        return success({
          object: 'balance' as const,
          tenant_id: tenantId,
          user_id: userId,
          uploads: {
            files: use.files,
            files_limit: quota.limits.maxFiles,
            bytes: use.bytes,
            bytes_limit: quota.limits.maxBytes,
          },
          accounts: (byTenant.get(tenantId) ?? []).map(toBalanceAccount),
          as_of: asOf === undefined ? null : String(asOf),
          updated_at: Math.floor(clock.nowMs() / 1_000),
        })
      },
    })
  }
}
