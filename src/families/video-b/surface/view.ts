import type { Static } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import { videoBUnits } from '../rules/pricing.ts'
import { shownSettings } from '../../../api/kit/task-answer.ts'
import type { VideoSchema } from './schemas.ts'

type Video = Static<typeof VideoSchema>

const echoed = ['task_type', 'modality', 'resolution', 'ratio', 'duration'] as const

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
      ...shownSettings(view.settings, echoed),
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
