import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { principalOf, requireToken, useQueryBounds } from '../kit/authenticate.ts'
import { success } from '../kit/account-surface.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { useJsonBody } from '../kit/json-body.ts'
import { accountRoutes } from './account-routes.ts'
import { cursorList, onePage, sendList } from './answers.ts'
import { toPosition } from './as-of.ts'
import { assetRoutes } from './asset-routes.ts'
import { fromCursor } from '../kit/queries.ts'
import { describe } from './documentation.ts'
import { historyFailures, listFailures, queryEnvelope } from './envelope.ts'
import { readHistory } from './history.ts'
import { lineColumns, toLine } from './ledger-lines.ts'
import { useKnownNames } from './known-names.ts'
import { readLedgerFilter } from './ledger-query.ts'
import type { QueryReads } from './reads.ts'
import { receiptRoute } from './receipts/route.ts'
import {
  HistoryAnswerSchema,
  HistoryParamsSchema,
  LinesAnswerSchema,
  LinesQuerySchema,
  SummaryAnswerSchema,
  SummaryQuerySchema,
} from './schemas.ts'
import type { QueryServices } from './services.ts'

/** These routes only read; the largest body that they accept. */
const BODY_LIMIT_BYTES = 64 * 1024

const summaryColumns = ['key', 'currency', 'unit', 'quantity', 'amount', 'lines'] as const

function linesRoute(instance: FastifyInstance, reads: QueryReads): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/lines',
    {
      schema: {
        ...describe({
          operationId: 'listLedgerLines',
          summary: 'List settled lines, newest first',
          ok: LinesAnswerSchema,
          failures: listFailures,
          csv: true,
        }),
        querystring: LinesQuerySchema,
      },
    },
    async (request, reply) => {
      const { limit, format, cursor, as_of } = request.query
      const asked = readLedgerFilter(principalOf(request), request.query)
      const after = fromCursor(cursor)
      const asOf = await reads.ledgerPosition(toPosition(as_of))
      const filter = { ...asked, asOf }
      return sendList(request, reply, format, {
        name: 'ledger-lines',
        columns: lineColumns,
        ...cursorList({ after, limit }, (page) => reads.listLines(filter, page), toLine, {
          as_of: String(asOf),
        }),
      })
    },
  )
}

function summaryRoute(instance: FastifyInstance, reads: QueryReads): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/summary',
    {
      schema: {
        ...describe({
          operationId: 'summariseLedger',
          summary: 'Get settled totals by group and currency',
          ok: SummaryAnswerSchema,
          failures: listFailures,
          csv: true,
        }),
        querystring: SummaryQuerySchema,
      },
    },
    async (request, reply) => {
      const groupBy = request.query.group_by ?? 'sku'
      const asked = readLedgerFilter(principalOf(request), request.query)
      const asOf = await reads.ledgerPosition(toPosition(request.query.as_of))
      const groups = await reads.summarise({ ...asked, asOf }, groupBy)
      const items = groups.map((group) => ({
        ...group,
        unit: group.unit ?? null,
        quantity: group.quantity ?? null,
      }))
      return sendList(request, reply, request.query.format, {
        name: `ledger-by-${groupBy}`,
        columns: summaryColumns,
        page: () => Promise.resolve({ group_by: groupBy, items, as_of: String(asOf) }),
        rows: () => onePage(items),
      })
    },
  )
}

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
    linesRoute(instance, reads)
    summaryRoute(instance, reads)
    assetRoutes(instance, reads)
    receiptRoute(instance, reads)
    accountRoutes(instance, services)
    instance.withTypeProvider<TypeBoxTypeProvider>().get(
      '/tasks/:id/history',
      {
        schema: {
          ...describe({
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
