import type { Static } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import { type Catalog, videoRules } from '../../../domain/catalog/catalog.ts'
import type { VideoSchema } from './schemas.ts'

type Video = Static<typeof VideoSchema>

/** What is shown of a task that was just created, and of any other. */
export type ShownTask = Pick<
  TaskView,
  'family' | 'platformId' | 'nativeId' | 'model' | 'status' | 'settings' | 'createdAtMs'
> &
  Partial<Pick<TaskView, 'updatedAtMs' | 'usage' | 'urls' | 'error'>>

const statuses = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'failed',
} as const

/** The shorter side of what is named by a word. */
const SIDES: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160 }

const seconds = (unixMs: number): number => Math.floor(unixMs / 1_000)

/** Of resolution and ratio; null where either is left to the model. */
function sizeOf(resolution: unknown, ratio: unknown): string | null {
  const word = String(resolution).toLowerCase()
  const side = SIDES[word] ?? Number(/^(\d{3,4})p$/.exec(word)?.[1] ?? Number.NaN)
  const [, across, down] = /^(\d{1,2}):(\d{1,2})$/.exec(String(ratio)) ?? []
  const [width, height] = [Number(across), Number(down)]
  if (Number.isNaN(side) || across === undefined || down === undefined) return null
  // Pictures have even sides.
  const longer = 2 * Math.round((side * Math.max(width, height)) / Math.min(width, height) / 2)
  return width >= height ? `${longer}x${side}` : `${side}x${longer}`
}

function errorOf({ status, error }: ShownTask): Video['error'] {
  if (status === 'expired') return { code: 'expired', message: 'The video was not made in time.' }
  if (status === 'cancelled') return { code: 'cancelled', message: 'The video was cancelled.' }
  return status === 'failed' && error !== undefined
    ? { code: error.code, message: error.message }
    : null
}

/** Its links under the family's own names, and the video's under the one all have. */
function metadataOf(
  catalog: Catalog,
  { family, status, urls }: ShownTask,
): Pick<Video, 'metadata'> {
  const { links } = videoRules(catalog, family)
  const video = urls?.[links.video]
  if (status !== 'succeeded' || video === undefined) return {}
  const picture = links.picture === undefined ? undefined : urls?.[links.picture]
  const shown =
    picture === undefined || links.picture === undefined ? {} : { [links.picture]: picture }
  return { metadata: { url: video, ...shown } }
}

/** Whatever the family counts; tools apart. */
function usageOf({ usage }: ShownTask): Pick<Video, 'usage'> {
  if (usage === undefined) return {}
  return {
    usage: Object.fromEntries(Object.entries(usage).filter(([unit]) => /^[a-z_]+$/.test(unit))),
  }
}

/** A task as a video. */
export function toVideo(catalog: Catalog, task: ShownTask): Video {
  const { family, platformId, nativeId, model, status, settings, createdAtMs, updatedAtMs } = task
  const names = videoRules(catalog, family).settings
  const length = settings[names.seconds]
  const isDone = status === 'succeeded'
  return {
    id: platformId,
    object: 'video',
    model,
    status: statuses[status],
    progress: isDone ? 100 : 0,
    created_at: seconds(createdAtMs),
    completed_at: isDone && updatedAtMs !== undefined ? seconds(updatedAtMs) : null,
    expires_at: null,
    seconds: typeof length === 'number' ? String(length) : null,
    size: sizeOf(settings[names.resolution], settings[names.ratio]),
    prompt: null,
    error: errorOf(task),
    remixed_from_video_id: null,
    ...(nativeId === undefined ? {} : { task_id: nativeId }),
    ...usageOf(task),
    ...metadataOf(catalog, task),
  }
}
