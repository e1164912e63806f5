import type { Static } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import type { TaskSchema } from '../schemas.ts'

type Task = Static<typeof TaskSchema>

/** Settings and actual specs a task shows; what else is kept of it stays inside. */
const echoedSettings = [
  'resolution',
  'ratio',
  'duration',
  'frames',
  'framespersecond',
  'generate_audio',
  'output_format',
  'safety_identifier',
  'priority',
  'seed',
  'service_tier',
  'execution_expires_after',
  'draft',
] as const

function echo(settings: TaskView['settings']): Partial<Task> {
  const shown = echoedSettings.flatMap((name) => {
    const value = settings[name]
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return Object.fromEntries(shown)
}

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

/** A task in the family's shape: of a query and of each list item. */
export function toTask(view: TaskView): Task {
  return {
    id: view.nativeId ?? view.platformId,
    model: view.model,
    status: view.status,
    ...(view.status === 'succeeded' ? contentOf(view.urls) : {}),
    ...(view.usage === undefined ? {} : { usage: view.usage }),
    created_at: Math.floor(view.createdAtMs / 1_000),
    updated_at: Math.floor(view.updatedAtMs / 1_000),
    ...echo(view.settings),
    ...(view.error === undefined
      ? {}
      : { error: { code: view.error.code, message: view.error.message } }),
  }
}
