import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { TaskQueryFilter, TaskRow } from '../../../projections/tasks/query.ts'
import type { SettledAmount } from '../../../projections/ledger/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { sendList, fileMembers } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { numberedList, pageMembers, pagesBehind, shownPageMembers } from './numbered-pages.ts'
import { NameOf } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices, ReportServices } from './services.ts'
import {
  readTimeRange,
  readZone,
  shownRange,
  ShownRangeMembers,
  type TimeRange,
  timeRangeMembers,
} from './time-range.ts'

const statuses = ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'] as const

export const tasksQuerySchema = ({ taskFamilies }: Catalog, surfaceNames: readonly string[]) =>
  Type.Object({
    ...timeRangeMembers,
    ...pageMembers,
    tenant_id: NameOf('Only of this tenant.'),
    user_id: NameOf('Only requests of this user.'),
    token_id: NameOf('Only requests with this token.'),
    surface: Type.Optional(Type.Enum([...surfaceNames])),
    request_id: NameOf('Only of the request with this `x-request-id`.'),
    source_id: NameOf('The same as `platform_id`.'),
    family: Type.Optional(
      Type.Enum([...taskFamilies.keys()], { description: 'Only tasks of this family.' }),
    ),
    status: Type.Optional(Type.Enum([...statuses], { description: 'Only tasks in this state.' })),
    model: NameOf('Only of this model, by its external name.'),
    task_id: NameOf('Only this task, by its native or platform id.'),
    platform_id: NameOf('Only this task, by its platform id.'),
    ...fileMembers,
  })

type TasksQuery = Partial<Static<ReturnType<typeof tasksQuerySchema>>>

const TaskItemSchema = Type.Object(
  {
    platform_id: Type.String({ description: 'Our id of the task.' }),
    task_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Native id of the task; null until the provider has given one.',
    }),
    tenant_id: Type.String(),
    user_id: Type.String(),
    token_id: Type.String(),
    family: Type.String(),
    endpoint: Type.String({ description: 'Path of the request.' }),
    model: Type.String(),
    status: Type.String(),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    updated_at: Type.Integer({ description: 'Unix seconds.' }),
    usage: Type.Union([Type.Record(Type.String(), Type.Integer()), Type.Null()]),
    currency: Type.Union([Type.String(), Type.Null()]),
    amount: Type.Union([Type.String(), Type.Null()], {
      description: 'Settled amount; null: not settled.',
    }),
    request_id: Type.String({ description: 'Id of the request that created it.' }),
    error_code: Type.Union([Type.String(), Type.Null()]),
  },
  { named: 'TaskItem' },
)
type TaskItem = Static<typeof TaskItemSchema>

const TasksAnswerSchema = successOf(
  Type.Object({ ...shownPageMembers, ...ShownRangeMembers, items: Type.Array(TaskItemSchema) }),
)

const columns = Object.keys(TaskItemSchema.properties) as readonly (keyof TaskItem)[]

function toItem(
  task: TaskRow,
  settled: SettledAmount | undefined,
  endpoints: QueryServices['http']['endpoints'],
): TaskItem {
  return {
    platform_id: task.platformId,
    task_id: task.nativeId,
    tenant_id: task.tenantId,
    user_id: task.userId,
    token_id: task.tokenId,
    family: task.family,
    endpoint: endpoints[task.surface] ?? task.surface,
    model: task.model,
    status: task.status,
    created_at: Math.floor(task.requestedAtMs / 1_000),
    updated_at: Math.floor(task.updatedAtMs / 1_000),
    usage: task.usage && { ...task.usage },
    currency: settled?.currency ?? null,
    amount: settled?.amount ?? null,
    request_id: task.requestId,
    error_code: task.error?.code ?? null,
  }
}

function toFilter(principal: Principal, query: TasksQuery, range: TimeRange): TaskQueryFilter {
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  return {
    ...narrow(visibleTo(principal), asked),
    ...range,
    family: query.family,
    status: query.status,
    model: query.model,
    taskId: query.task_id,
    platformId: query.platform_id ?? query.source_id,
    tokenId: query.token_id,
    surface: query.surface,
    requestId: query.request_id,
  }
}

async function itemsOf({ queries, http }: ReportServices, rows: readonly TaskRow[]) {
  const settled = await queries.accounts.settledAmounts(rows.map(({ platformId }) => platformId))
  return rows.map((row) => toItem(row, settled.get(row.platformId), http.endpoints))
}

/** Tasks of every family, newest first: `tasks` of the query API. */
export function readTasks(services: ReportServices, principal: Principal, query: TasksQuery) {
  const { accounts } = services.queries
  const range = readTimeRange(query, services.clock.nowMs())
  const filter = toFilter(principal, query, range)
  const list = numberedList(query, {
    read: (place) => accounts.tasks(filter, place),
    all: () =>
      pagesBehind((after: TaskRow | undefined, limit) =>
        accounts.tasksBehind(filter, after, limit),
      ),
    show: (rows) => itemsOf(services, rows),
    further: shownRange(range),
  })
  return {
    name: 'tasks',
    columns,
    seconds: ['created_at', 'updated_at'] as const,
    ...list,
    facts: { ...filter, ...range, zone: readZone(query.tz), asOf: undefined },
  }
}

/** Tasks of every family, newest first, by page number. */
export function tasksRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/tasks',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'queryTasks',
          summary: 'List tasks of every family, newest first',
          ok: TasksAnswerSchema,
          failures: listFailures,
          csv: true,
        }),
        querystring: tasksQuerySchema(
          services.models.catalog,
          Object.keys(services.http.endpoints),
        ),
      },
    },
    async (request, reply) => {
      const list = readTasks(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
