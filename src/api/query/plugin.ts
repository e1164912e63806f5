import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { principalOf, requireToken, useQueryBounds } from '../kit/tokens/authenticate.ts'
import { success } from '../kit/routes/account-surface.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { useJsonBody } from '../kit/bodies/json-body.ts'
import { accountRoutes } from './account-routes.ts'
import { assetRoutes } from './asset-routes.ts'
import { describeQuery } from './documentation.ts'
import { historyFailures, queryEnvelope } from './envelope.ts'
import { readHistory } from './history.ts'
import { useKnownNames } from './known-names.ts'
import { ledgerRoutes } from './ledger.ts'
import { queryLifeRoutes } from './lives/route.ts'
import { receiptRoute } from './receipts/route.ts'
import { HistoryAnswerSchema, HistoryParamsSchema } from './schemas.ts'
import type { QueryServices } from './services.ts'
import { periodsRoute } from './statements/list.ts'
import { statementRoutes } from './statements/files.ts'

/** These routes only read; the largest body that they accept. */
const BODY_LIMIT_BYTES = 64 * 1024

/** The read-only queries for finance and support, registered under `/api/query/v1`. */
export function queryPlugin(services: QueryServices) {
  const { reads, knownNames } = services.queries
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, queryEnvelope)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, services, 'query')
    useQueryBounds(instance, services)
    useKnownNames(instance, services.models.catalog, knownNames)
    ledgerRoutes(instance, services)
    assetRoutes(instance, reads)
    receiptRoute(instance, reads)
    queryLifeRoutes(instance, reads)
    accountRoutes(instance, services)
    periodsRoute(instance, services)
    statementRoutes(instance, services)
    instance.withTypeProvider<TypeBoxTypeProvider>().get(
      '/tasks/:id/history',
      {
        config: { roles: ['support'] },
        schema: {
          ...describeQuery({
            operationId: 'getTaskHistory',
            summary: 'Get the history of a task, a call or a request',
            ok: HistoryAnswerSchema,
            failures: historyFailures,
          }),
          params: HistoryParamsSchema,
        },
      },
      async (request, reply) => {
        const items = await readHistory(reads, principalOf(request), request.params.id)
        void reply.header('cache-control', 'no-store')
        return success({ items })
      },
    )
  }
}
