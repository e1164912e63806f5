import type { Static } from 'typebox'
import { COMPLETION_TOKENS, toolOf, TOTAL_TOKENS } from '../rules/units.ts'
import type { TaskView } from '../../../app/tasks/types.ts'
import { shownSettings } from '../../../api/kit/task-answer.ts'
import type { TaskSchema } from './schemas.ts'

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
