import type { Static } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import { videoBUnits } from '../../../domain/families/video-b/units.ts'
import type { VideoSchema } from './schemas.ts'

type Video = Static<typeof VideoSchema>

/** Settings and actual specs a task shows; what else is kept of it stays inside. */
const echoed = ['task_type', 'modality', 'resolution', 'ratio', 'duration'] as const

function echo(settings: TaskView['settings']): Partial<Video['task']> {
  const shown = echoed.flatMap((name) => {
    const value = settings[name]
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return Object.fromEntries(shown)
}

function usageOf(usage: NonNullable<TaskView['usage']>): NonNullable<Video['task']['usage']> {
  return Object.fromEntries(
    videoBUnits.flatMap((unit) => {
      const count = usage[unit]
      return count === undefined ? [] : [[unit, count] as const]
    }),
  )
}

/** A task in the family's shape. */
export function toVideo(view: TaskView): Video {
  const url = view.status === 'succeeded' ? view.urls?.['url'] : undefined
  return {
    task: {
      id: view.nativeId ?? view.platformId,
      model: view.model,
      status: view.status,
      ...echo(view.settings),
      created_at: Math.floor(view.createdAtMs / 1_000),
      updated_at: Math.floor(view.updatedAtMs / 1_000),
      ...(url === undefined ? {} : { content: { url } }),
      ...(view.usage === undefined ? {} : { usage: usageOf(view.usage) }),
      ...(view.error === undefined
        ? {}
        : { error: { code: view.error.code, message: view.error.message } }),
    },
    platform_id: view.platformId,
    base_resp: { status_code: 0, status_msg: 'success' },
  }
}
