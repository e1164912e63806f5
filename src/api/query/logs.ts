import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { type LogKind, logKinds } from '../../../projections/ledger/query.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { sendList } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { LogsAnswerSchema, logColumns, toLogItem } from './log-items.ts'
import { numberedList, pageMembers, pagesByOffset } from './numbered-pages.ts'
import type { LogRow } from './open-logs.ts'
import { factsOf, readReport, reportMembers } from './report-query.ts'
import { NameOf } from './schemas.ts'
import type { QueryServices, ReportServices } from './services.ts'
import { shownRange } from './time-range.ts'

export const logsQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    ...pageMembers,
    type: Type.Optional(
      Type.Enum([...logKinds], { description: 'Kinds of items to return; all by default.' }),
    ),
    task_id: NameOf('Only of this task, by its native or platform id, or of this call.'),
  })
type LogsQuery = Partial<Static<ReturnType<typeof logsQuerySchema>>>

async function itemsOf({ queries, http }: ReportServices, rows: readonly LogRow[]) {
  const facts = await queries.accounts.logFacts(rows)
  return rows.map((row) => toLogItem(row, facts, http.endpoints))
}

/** Usage, grants and adjustments, newest first: `logs` of the query API. */
export async function readLogs(services: ReportServices, principal: Principal, query: LogsQuery) {
  const { accounts } = services.queries
  const report = await readReport(services, principal, query)
  const { filter, range } = report
  const kinds: readonly LogKind[] = query.type === undefined ? logKinds : [query.type]
  const sourceIds =
    query.task_id === undefined ? undefined : await accounts.sourcesOf(query.task_id)
  const logs = await accounts.openLogs({ ...filter, kinds, sourceIds })
  const list = numberedList(query, {
    read: async (place) => ({ rows: await logs.page(place), total: logs.total }),
    all: () => pagesByOffset(logs.page),
    show: (rows) => itemsOf(services, rows),
    further: { ...shownRange(range), as_of: String(filter.asOf) },
  })
  return {
    name: 'logs',
    columns: logColumns,
    seconds: ['created_at'] as const,
    ...list,
    facts: factsOf(report, query.tz),
  }
}

/** The movements of a tenant's money, newest first, by page number. */
export function logsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/logs',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listLogs',
          summary: 'List usage, grants and adjustments, newest first',
          ok: LogsAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: logsQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readLogs(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
