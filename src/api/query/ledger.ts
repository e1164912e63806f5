import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { principalOf } from '../kit/authenticate.ts'
import { fromCursor } from '../kit/queries.ts'
import { cursorList, onePage, sendList } from './answers.ts'
import { describe } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { lineColumns, toLine } from './ledger-lines.ts'
import { periodsOf } from './periods.ts'
import { readReport, reportMembers } from './report-query.ts'
import { Cursor, Limit, LinesAnswerSchema, SummaryAnswerSchema } from './schemas.ts'
import type { QueryServices } from './services.ts'
import { shownSums } from './usage.ts'

/** The settled lines, one by one and summed by one key. */

const linesQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({ ...reportMembers(surfaceNames), cursor: Cursor, limit: Limit })

/** Settled lines, newest first: `ledger/lines` of the query API. */
export async function readLines(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<ReturnType<typeof linesQuerySchema>>>,
) {
  const from = { after: fromCursor(query.cursor), limit: query.limit }
  const { filter } = await readReport(services, principal, query)
  const read = (page: { readonly after: string | undefined; readonly limit: number }) =>
    services.queries.reads.listLines(filter, page)
  return cursorList(from, read, toLine, { as_of: String(filter.asOf) })
}

function linesRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/lines',
    {
      schema: {
        ...describe({
          operationId: 'listLedgerLines',
          summary: 'List settled lines, newest first',
          ok: LinesAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: linesQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readLines(services, principalOf(request), request.query)
      const { format } = request.query
      return sendList(request, reply, format, {
        name: 'ledger-lines',
        columns: lineColumns,
        ...list,
      })
    },
  )
}

const summaryQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    group_by: Type.Optional(Type.Enum(['sku', 'day', 'model', 'tenant'], { default: 'sku' })),
  })

const summaryColumns = [
  'key',
  'currency',
  'unit',
  'quantity',
  'amount',
  'lines',
  'requests',
  'refunded',
  'net',
] as const

/** Sums of settled lines and refunds by one key: `ledger/summary` of the query API. */
export async function readSummary(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<ReturnType<typeof summaryQuerySchema>>>,
) {
  const { accounts, reads } = services.queries
  const groupBy = query.group_by ?? 'sku'
  const { filter } = await readReport(services, principal, query)
  const time = groupBy === 'day' ? groupBy : undefined
  const { range, periods } = await periodsOf(accounts, filter, time, query.tz)
  const groups = await reads.summarise({ ...filter, ...range }, groupBy, periods)
  const isOfParts = groupBy === 'sku' || filter.sku !== undefined
  const items = groups.map(({ key, ...group }) => ({ key, ...shownSums(group, isOfParts) }))
  return { group_by: groupBy, items, as_of: String(filter.asOf) }
}

function summaryRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/summary',
    {
      schema: {
        ...describe({
          operationId: 'summariseLedger',
          summary: 'Get settled totals by group and currency',
          ok: SummaryAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: summaryQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const page = await readSummary(services, principalOf(request), request.query)
      return sendList(request, reply, request.query.format, {
        name: `ledger-by-${page.group_by}`,
        columns: summaryColumns,
        page: () => Promise.resolve(page),
        rows: () => onePage(page.items),
      })
    },
  )
}

export function ledgerRoutes(instance: FastifyInstance, services: QueryServices): void {
  linesRoute(instance, services)
  summaryRoute(instance, services)
}
