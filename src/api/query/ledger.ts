import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { principalOf } from '../kit/authenticate.ts'
import { RequestError } from '../kit/request-error.ts'
import { sendList, sendListOr, wholeList } from './answers.ts'
import { describe } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { toLine, withNames } from './ledger-lines.ts'
import { lineFile, type LineFormat } from './line-files.ts'
import { periodsOf } from './periods.ts'
import { factsOf, placeOf, positionedList, readReport, reportMembers } from './report-query.ts'
import {
  Cursor,
  Limit,
  lineFileMembers,
  LinesAnswerSchema,
  SummaryAnswerSchema,
} from './schemas.ts'
import { visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { shownSums, sumColumns } from './usage.ts'

/** The settled lines, one by one and summed by one key. */

const linesQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    ...lineFileMembers,
    cursor: Cursor,
    limit: Limit,
  })

type LinesQuery = Partial<Static<ReturnType<typeof linesQuerySchema>>>

/** Settled lines, newest first: `ledger/lines` of the query API. */
export async function readLines(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: LinesQuery,
) {
  const { accounts, reads, billing } = services.queries
  const { limit, format } = query
  for (const name of ['cursor', 'limit'] as const)
    if (format === 'focus' && query[name] !== undefined)
      throw new RequestError(
        'parameter_invalid',
        `a FOCUS file has no pages: leave out ${name}`,
        name,
      )
  const { asOf, ...place } = placeOf(['lines', visibleTo(principal)], query)
  const report = await readReport(services, principal, { ...query, ...(asOf && { as_of: asOf }) })
  const { filter } = report
  const facts = factsOf(report, query.tz)
  const list = positionedList(
    { ...place, limit },
    report,
    async (page) => withNames(accounts, await reads.listLines(filter, page)),
    toLine,
  )
  const file = (wanted: LineFormat) =>
    lineFile(
      reads.exports,
      { format: wanted, filter, after: place.after, limit, hasByteOrderMark: query.bom === 'true' },
      { ...billing, zone: facts.zone },
    )
  return { page: list.page, facts, file }
}

function linesRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/lines',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describe({
          operationId: 'listLedgerLines',
          summary: 'List settled lines, newest first',
          ok: LinesAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
          files: { 'application/x-ndjson': 'A line of JSON for each line of the ledger.' },
        }),
        querystring: linesQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readLines(services, principalOf(request), request.query)
      const name = request.query.format === 'focus' ? 'focus' : 'ledger-lines'
      return sendListOr(request, reply, request.query, { name, ...list })
    },
  )
}

export const summaryQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    group_by: Type.Optional(
      Type.Enum(['sku', 'day', 'model', 'tenant'], { default: 'sku', description: 'The key.' }),
    ),
  })

const summaryColumns = ['key', ...sumColumns] as const

/** Sums of settled lines and refunds by one key: `ledger/summary` of the query API. */
export async function readSummary(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<ReturnType<typeof summaryQuerySchema>>>,
) {
  const { accounts, reads } = services.queries
  const groupBy = query.group_by ?? 'sku'
  const report = await readReport(services, principal, query)
  const { filter } = report
  const time = groupBy === 'day' ? groupBy : undefined
  const { range, periods } = await periodsOf(accounts, filter, time, query.tz)
  const groups = await reads.summarise({ ...filter, ...range }, groupBy, periods)
  const isOfParts = groupBy === 'sku' || filter.sku !== undefined
  const items = groups.map(({ key, ...group }) => ({ key, ...shownSums(group, isOfParts) }))
  const page = { group_by: groupBy, items, as_of: String(filter.asOf) }
  return {
    name: `ledger-by-${groupBy}`,
    facts: factsOf(report, query.tz),
    columns: summaryColumns,
    ...wholeList(page),
  }
}

function summaryRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/summary',
    {
      config: { roles: ['finance'] },
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
      const list = await readSummary(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}

export function ledgerRoutes(instance: FastifyInstance, services: QueryServices): void {
  linesRoute(instance, services)
  summaryRoute(instance, services)
}
