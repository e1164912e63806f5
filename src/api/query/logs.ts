import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { type LogKind, logKinds } from '../../../projections/ledger/query.ts'
import { principalOf } from '../kit/authenticate.ts'
import { sendList } from './answers.ts'
import { toPosition } from './as-of.ts'
import { describe } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { LogsAnswerSchema, logColumns, toLogItem } from './log-items.ts'
import { numberedList, pageMembers, pagesByOffset } from './numbered-pages.ts'
import type { LogFilter, LogRow } from './open-logs.ts'
import { AsOf, Format, Name } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange, shownRange, type TimeRange, timeRangeMembers } from './time-range.ts'

const LogsQuerySchema = Type.Object({
  ...timeRangeMembers,
  ...pageMembers,
  tenant_id: Type.Optional(Name),
  user_id: Type.Optional(Name),
  model: Type.Optional(Name),
  token_id: Type.Optional(Name),
  type: Type.Optional(
    Type.Enum([...logKinds], { description: 'Kinds of items to return; all by default.' }),
  ),
  task_id: Type.Optional(Name),
  request_id: Type.Optional(Name),
  as_of: Type.Optional(AsOf),
  format: Format,
})
type LogsQuery = Static<typeof LogsQuerySchema>

async function toFilter(
  { accounts, reads }: QueryServices['queries'],
  principal: Principal,
  query: LogsQuery,
  range: TimeRange,
): Promise<LogFilter & { readonly asOf: bigint }> {
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  const scope = narrow(visibleTo(principal), asked)
  const kinds: readonly LogKind[] = query.type === undefined ? logKinds : [query.type]
  return {
    ...scope,
    ...range,
    kinds,
    model: query.model,
    tokenId: query.token_id,
    requestId: query.request_id,
    sourceIds: query.task_id === undefined ? undefined : await accounts.sourcesOf(query.task_id),
    asOf: await reads.ledgerPosition(toPosition(query.as_of)),
  }
}

async function itemsOf({ queries, http }: QueryServices, rows: readonly LogRow[]) {
  const facts = await queries.accounts.logFacts(rows)
  return rows.map((row) => toLogItem(row, facts, http.endpoints))
}

/** The movements of a tenant's money, newest first, by page number. */
export function logsRoute(instance: FastifyInstance, services: QueryServices): void {
  const { clock, queries } = services
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/logs',
    {
      schema: {
        ...describe({
          operationId: 'listLogs',
          summary: 'List usage, grants and adjustments, newest first',
          ok: LogsAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: LogsQuerySchema,
      },
    },
    async (request, reply) => {
      const { query } = request
      const range = readTimeRange(query, clock.nowMs())
      const filter = await toFilter(queries, principalOf(request), query, range)
      const logs = await queries.accounts.openLogs(filter)
      return sendList(request, reply, query.format, {
        name: 'logs',
        columns: logColumns,
        ...numberedList(query, {
          read: async (place) => ({ rows: await logs.page(place), total: logs.total }),
          all: () => pagesByOffset(logs.page),
          show: (rows) => itemsOf(services, rows),
          further: { ...shownRange(range), as_of: String(filter.asOf) },
        }),
      })
    },
  )
}
