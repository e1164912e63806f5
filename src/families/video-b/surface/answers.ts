import { type Static, Type } from 'typebox'
import { shownSettings } from '../../../api/kit/routes/tasks.ts'
import type { TaskView } from '../../../app/tasks/types.ts'
import { videoBUnits } from '../rules/pricing.ts'

/** Answers of the `/provB` video interface. */

const PlatformId = Type.String({ examples: ['video_01JABCDEFGHJKMNPQRSTVWXYZ0'] })

export const CreatedVideoSchema = Type.Object(
  { task_id: Type.String({ examples: ['424010985738629'] }), platform_id: PlatformId },
  { named: 'CreatedVideoB', description: 'The task exists; requests accept either id.' },
)

export const VideoSchema = Type.Object(
  {
    task: Type.Object({
      id: Type.String(),
      status: Type.Enum(['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled']),
      model: Type.String(),
      task_type: Type.Optional(Type.String()),
      modality: Type.Optional(Type.String()),
      resolution: Type.Optional(Type.String()),
      ratio: Type.Optional(Type.String()),
      duration: Type.Optional(Type.Number()),
      created_at: Type.Integer({ description: 'Unix seconds.' }),
      updated_at: Type.Integer({ description: 'Unix seconds.' }),
      content: Type.Optional(
        Type.Object({ url: Type.String({ description: 'Signed; expires.' }) }),
      ),
      usage: Type.Optional(
        Type.Object({
          input_seconds: Type.Optional(Type.Integer()),
          output_seconds: Type.Optional(Type.Integer()),
          total_seconds: Type.Optional(Type.Integer()),
          input_image_count: Type.Optional(Type.Integer()),
        }),
      ),
      error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
    }),
    platform_id: PlatformId,
    base_resp: Type.Object({ status_code: Type.Integer(), status_msg: Type.String() }),
  },
  { named: 'VideoB' },
)

export const VideoParamsSchema = Type.Object({
  task_id: Type.String({ description: 'The task_id or the platform_id of the creation.' }),
})

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
