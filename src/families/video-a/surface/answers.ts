import { type Static, Type } from 'typebox'
import { RequestError } from '../../../api/kit/request-error.ts'
import { isTaskId, shownSettings } from '../../../api/kit/routes/tasks.ts'
import type { ListTasksInput, TaskView } from '../../../app/tasks/types.ts'
import { resolveVideoAModel } from '../rules/models.ts'
import { COMPLETION_TOKENS, toolOf, TOTAL_TOKENS } from '../rules/pricing.ts'

/** Shapes of the `/provA` task interface, and the view of a task. */

const TaskStatusSchema = Type.Enum(
  ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'],
  { description: 'State of the task.' },
)

export const CreatedTaskSchema = Type.Object(
  {
    id: Type.String({ examples: ['cgt-20260102030405-x7k2p'] }),
    model: Type.Optional(Type.String({ description: 'Only with the 2.5 models.' })),
  },
  {
    named: 'CreatedVideoTask',
    description: 'The task exists; x-platform-id names it for support.',
    examples: [{ id: 'cgt-20260102030405-x7k2p' }],
  },
)

export const TaskSchema = Type.Object(
  {
    id: Type.String({ examples: ['cgt-20260102030405-x7k2p'] }),
    model: Type.String({ examples: ['overseas-video-2-0-mini'] }),
    status: TaskStatusSchema,
    content: Type.Optional(
      Type.Object(
        {
          video_url: Type.Optional(Type.String({ description: 'Signed; valid about 24 hours.' })),
          last_frame_url: Type.Optional(Type.String()),
        },
        { named: 'VideoTaskContent' },
      ),
    ),
    usage: Type.Optional(
      Type.Object(
        {
          completion_tokens: Type.Optional(Type.Integer()),
          total_tokens: Type.Optional(Type.Integer()),
          tool_usage: Type.Optional(Type.Record(Type.String(), Type.Integer())),
        },
        { named: 'VideoTaskUsage' },
      ),
    ),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    updated_at: Type.Integer({ description: 'Unix seconds.' }),
    resolution: Type.Optional(Type.String()),
    ratio: Type.Optional(Type.String()),
    duration: Type.Optional(Type.Number()),
    frames: Type.Optional(Type.Number()),
    framespersecond: Type.Optional(Type.Number()),
    generate_audio: Type.Optional(Type.Boolean()),
    output_format: Type.Optional(Type.String()),
    safety_identifier: Type.Optional(Type.String()),
    priority: Type.Optional(Type.Number()),
    seed: Type.Optional(Type.Number()),
    service_tier: Type.Optional(Type.String()),
    execution_expires_after: Type.Optional(Type.Number()),
    draft: Type.Optional(Type.Boolean()),
    error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  },
  { named: 'VideoTask' },
)

export const TaskListSchema = Type.Object(
  {
    items: Type.Array(TaskSchema),
    total: Type.Integer(),
  },
  { named: 'VideoTaskList' },
)

export const TaskParamsSchema = Type.Object({
  id: Type.String({ description: 'The task id, or the platform id of the x-platform-id header.' }),
})

/** The most ids of one list request. */
const MAX_LIST_IDS = 500

export const ListTasksQuerySchema = Type.Object({
  page_num: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      default: 1,
      description: 'Number of the page, from 1.',
    }),
  ),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 10 })),
  'filter.status': Type.Optional(TaskStatusSchema),
  'filter.model': Type.Optional(
    Type.String({ description: 'External model name or alias; an unknown name is refused.' }),
  ),
  'filter.task_ids': Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: `Up to ${MAX_LIST_IDS} ids, separated by commas or by repeating the parameter.`,
    }),
  ),
})

export const DeletedTaskSchema = Type.Object(
  {},
  { description: 'The task was cancelled or hidden.' },
)

type ListTasksQuery = Static<typeof ListTasksQuerySchema>

const DEFAULT_PAGE_SIZE = 10

function modelOf(name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  const model = resolveVideoAModel(name)
  if (model) return model.name
  throw new RequestError(
    'parameter_invalid',
    'filter.model must be an external model name or its version alias',
    'filter.model',
  )
}

/** Comma-separated, repeated, or both; naming none is no filter, naming only impossible ones is. */
function idsOf(value: string | string[] | undefined): readonly string[] | undefined {
  const named = [value ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((id) => id.trim())
    .filter((id) => id !== '')
  if (named.length === 0) return undefined
  const ids = new Set(named)
  if (ids.size > MAX_LIST_IDS)
    throw new RequestError(
      'parameter_invalid',
      `filter.task_ids must name at most ${MAX_LIST_IDS} tasks`,
      'filter.task_ids',
    )
  return [...ids].filter(isTaskId)
}

/** The use case's input from the query string. @throws RequestError */
export function readListQuery(query: ListTasksQuery): Omit<ListTasksInput, 'principal' | 'family'> {
  return {
    pageNumber: query.page_num ?? 1,
    pageSize: query.page_size ?? DEFAULT_PAGE_SIZE,
    status: query['filter.status'],
    model: modelOf(query['filter.model']),
    ids: idsOf(query['filter.task_ids']),
  }
}

type Task = Static<typeof TaskSchema>

const echoed = [
  'resolution',
  'ratio',
  'duration',
  'frames',
  'framespersecond',
  'generate_audio',
  'output_format',
  'priority',
  'seed',
  'service_tier',
  'execution_expires_after',
  'draft',
] as const

function contentOf(urls: TaskView['urls']): Partial<Task> {
  const video = urls?.['video_url']
  const lastFrame = urls?.['last_frame_url']
  if (video === undefined && lastFrame === undefined) return {}
  return {
    content: {
      ...(video === undefined ? {} : { video_url: video }),
      ...(lastFrame === undefined ? {} : { last_frame_url: lastFrame }),
    },
  }
}

function usageOf(usage: NonNullable<TaskView['usage']>): NonNullable<Task['usage']> {
  const completion = usage[COMPLETION_TOKENS]
  const total = usage[TOTAL_TOKENS]
  const tools = Object.entries(usage).flatMap(([unit, count]) => {
    const tool = toolOf(unit)
    return tool === undefined ? [] : [[tool, count] as const]
  })
  return {
    ...(completion === undefined ? {} : { completion_tokens: completion }),
    ...(total === undefined ? {} : { total_tokens: total }),
    ...(tools.length === 0 ? {} : { tool_usage: Object.fromEntries(tools) }),
  }
}

/** A task in the family's shape: of a query and of each list item. */
export function toTask(view: TaskView): Task {
  return {
    id: view.nativeId ?? view.platformId,
    model: view.model,
    status: view.status,
    ...(view.status === 'succeeded' ? contentOf(view.urls) : {}),
    ...(view.usage === undefined ? {} : { usage: usageOf(view.usage) }),
    created_at: Math.floor(view.createdAtMs / 1_000),
    updated_at: Math.floor(view.updatedAtMs / 1_000),
    ...shownSettings(view.settings, echoed),
    ...(view.callerMarker === undefined ? {} : { safety_identifier: view.callerMarker }),
    ...(view.error === undefined
      ? {}
      : { error: { code: view.error.code, message: view.error.message } }),
  }
}
