import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Authenticate, Principal } from '../../app/access/principal.ts'
import { principalOf, requireToken } from '../kit/authenticate.ts'
import { csvStream, type CsvRow } from '../kit/csv.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { useJsonBody } from '../kit/json-body.ts'
import { describe } from './documentation.ts'
import { historyFailures, ledgerFailures, queryEnvelope } from './envelope.ts'
import { readHistory } from './history.ts'
import { fromCursor, lineColumns, linePages, toCursor, toLine } from './ledger-lines.ts'
import { readLedgerFilter, wantsCsv } from './ledger-query.ts'
import type { QueryReads } from './reads.ts'
import {
  DEFAULT_PAGE_LINES,
  HistoryAnswerSchema,
  HistoryParamsSchema,
  LinesAnswerSchema,
  LinesQuerySchema,
  SummaryAnswerSchema,
  SummaryQuerySchema,
} from './schemas.ts'

export interface QueryDeps {
  readonly authenticate: Authenticate
  readonly reads: QueryReads
  /** Counts a query of a token. @throws DomainError `rate_limited` when it has had as many as it may */
  readonly countQuery?: (principal: Principal) => void
}

/** These routes only read; whatever body is sent along stays this small. */
const BODY_LIMIT_BYTES = 64 * 1024

const summaryColumns = ['key', 'currency', 'unit', 'quantity', 'amount', 'lines'] as const

/** A success in the surface's shape. */
function success<T>(data: T) {
  return { success: true as const, message: '', data }
}

function sendCsv(
  reply: FastifyReply,
  name: string,
  header: readonly string[],
  pages: AsyncIterable<readonly CsvRow[]>,
): FastifyReply {
  return reply
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .type('text/csv; charset=utf-8; header=present')
    .send(csvStream(header, pages))
}

function ledgerRoutes(instance: FastifyInstance, reads: QueryReads): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get(
    '/ledger/lines',
    {
      schema: {
        ...describe({
          operationId: 'listLedgerLines',
          summary: 'Settled lines, newest first',
          ok: LinesAnswerSchema,
          failures: ledgerFailures,
          csv: true,
        }),
        querystring: LinesQuerySchema,
      },
    },
    async (request, reply) => {
      const { query } = request
      const filter = readLedgerFilter(principalOf(request), query)
      const after = fromCursor(query.cursor)
      void reply.header('cache-control', 'no-store').header('vary', 'Accept')
      if (wantsCsv(request, query.format)) {
        const pages = linePages(reads, filter, { after, limit: query.limit })
        return sendCsv(reply, 'ledger-lines', lineColumns, pages)
      }
      const page = await reads.listLines(filter, {
        after,
        limit: query.limit ?? DEFAULT_PAGE_LINES,
      })
      const next = page.next === undefined ? null : toCursor(page.next)
      return success({ items: page.items.map(toLine), next_cursor: next })
    },
  )
  app.get(
    '/ledger/summary',
    {
      schema: {
        ...describe({
          operationId: 'summariseLedger',
          summary: 'Settled totals by group and currency',
          ok: SummaryAnswerSchema,
          failures: ledgerFailures,
          csv: true,
        }),
        querystring: SummaryQuerySchema,
      },
    },
    async (request, reply) => {
      const groupBy = request.query.group_by ?? 'sku'
      const groups = await reads.summarise(
        readLedgerFilter(principalOf(request), request.query),
        groupBy,
      )
      const items = groups.map((group) => ({
        ...group,
        unit: group.unit ?? null,
        quantity: group.quantity ?? null,
      }))
      void reply.header('cache-control', 'no-store').header('vary', 'Accept')
      if (!wantsCsv(request, request.query.format)) return success({ group_by: groupBy, items })
      const rows = items.map((item) => summaryColumns.map((column) => item[column]))
      return sendCsv(reply, `ledger-by-${groupBy}`, summaryColumns, onePage(rows))
    },
  )
}

async function* onePage(rows: readonly CsvRow[]): AsyncGenerator<readonly CsvRow[]> {
  yield await Promise.resolve(rows)
}

/** The read-only queries for finance and support, to be registered under `/api/query/v1`. */
export function queryPlugin(deps: QueryDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, queryEnvelope)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, deps.authenticate, 'query')
    // What is refused for its parameters counts nothing.
    instance.addHook('preHandler', (request, _reply, done) => {
      deps.countQuery?.(principalOf(request))
      done()
    })
    ledgerRoutes(instance, deps.reads)
    instance.withTypeProvider<TypeBoxTypeProvider>().get(
      '/tasks/:id/history',
      {
        schema: {
          ...describe({
            operationId: 'getTaskHistory',
            summary: 'What happened to a task, a call or a request',
            ok: HistoryAnswerSchema,
            failures: historyFailures,
          }),
          params: HistoryParamsSchema,
        },
      },
      async (request, reply) => {
        const items = await readHistory(deps.reads, principalOf(request), request.params.id)
        void reply.header('cache-control', 'no-store')
        return success({ items })
      },
    )
  }
}
