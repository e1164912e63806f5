import type { Static } from 'typebox'
import { RequestError } from '../../../api/kit/request-error.ts'
import { isTaskId, shownSettings } from '../../../api/kit/task-answer.ts'
import type { ListTasksInput, TaskView } from '../../../app/tasks/types.ts'
import { resolveVideoAModel } from '../rules/models.ts'
import { COMPLETION_TOKENS, toolOf, TOTAL_TOKENS } from '../rules/pricing.ts'
import { type ListTasksQuerySchema, MAX_LIST_IDS, type TaskSchema } from './schemas.ts'

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

/** The use case's input out of the query string. @throws RequestError */
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
