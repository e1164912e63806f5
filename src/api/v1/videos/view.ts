import { type Static, Type } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import { type Catalog, videoRules } from '../../../domain/catalog/catalog.ts'

/** Shapes of videos for callers that do not name the family. */

const Seconds = Type.Integer({ description: 'Unix seconds.' })
const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

export const VideoSchema = Type.Object({
  id: Type.String({ description: '`video_<ULID>`; requests accept the native id as well.' }),
  object: Type.Literal('video'),
  model: Type.String(),
  status: Type.Enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: Type.Integer({ description: '0, or 100 once the video is completed.' }),
  created_at: Seconds,
  completed_at: orNull(Seconds),
  expires_at: Type.Null(),
  seconds: Type.String({ description: '`auto` while only the model knows it.' }),
  size: Type.String({
    description: '`<width>x<height>`, or `auto` while only the model knows it.',
  }),
  prompt: Type.Null({ description: 'Prompts are not kept.' }),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  remixed_from_video_id: Type.Null(),
  task_id: Type.Optional(Type.String({ description: 'Native id of the task in its family.' })),
  usage: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Signed links; they expire.' }),
  ),
})

export const VideoListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(VideoSchema),
    first_id: orNull(Type.String()),
    last_id: orNull(Type.String()),
    has_more: Type.Boolean(),
  },
  { named: 'VideoList' },
)

export const DeletedVideoSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('video.deleted'),
    deleted: Type.Literal(true),
  },
  { named: 'DeletedVideo' },
)

export const VideoParamsSchema = Type.Object({
  id: Type.String({ description: 'Id of the video, or native id of the task in its family.' }),
})

const MAX_PAGE_VIDEOS = 100
export const DEFAULT_PAGE_VIDEOS = 20

export const VideoListQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ description: 'Id of a video; the page begins after it.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE_VIDEOS, default: DEFAULT_PAGE_VIDEOS }),
  ),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { description: 'Order by time of creation; default `desc`.' }),
  ),
})

export const VideoContentQuerySchema = Type.Object({
  variant: Type.Optional(
    Type.Enum(['video', 'thumbnail', 'spritesheet'], {
      description: 'Default `video`; the family decides which others it supports.',
    }),
  ),
})

type Video = Static<typeof VideoSchema>

/** The shape of a new task, and of any other. */
type ShownTask = Pick<
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

/** The shorter side of a named resolution. */
const SIDES: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160 }

const seconds = (unixMs: number): number => Math.floor(unixMs / 1_000)

/** Represents a value that the model chooses: the official types have no null. */
export const AUTO = 'auto'

/** The length in seconds; `auto` for a family's mark of a free choice, such as -1. */
function secondsOf(length: unknown): string {
  return typeof length === 'number' && length > 0 ? String(length) : AUTO
}

/** The size from resolution and ratio. */
function sizeOf(resolution: unknown, ratio: unknown): string {
  const word = String(resolution).toLowerCase()
  const side = SIDES[word] ?? Number(/^(\d{3,4})p$/.exec(word)?.[1] ?? Number.NaN)
  const [, across, down] = /^(\d{1,2}):(\d{1,2})$/.exec(String(ratio)) ?? []
  const [width, height] = [Number(across), Number(down)]
  if (Number.isNaN(side) || across === undefined || down === undefined) return AUTO
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

/** The links under the family's names, and the video's under the common name. */
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

/** The family's usage; tools are listed separately. */
function usageOf({ usage }: ShownTask): Pick<Video, 'usage'> {
  if (usage === undefined) return {}
  return {
    usage: Object.fromEntries(Object.entries(usage).filter(([unit]) => /^[a-z_]+$/.test(unit))),
  }
}

/** A task as a video. */
export function toVideo(catalog: Catalog, task: ShownTask): Video {
  const { family, platformId, nativeId, model, status, settings, createdAtMs, updatedAtMs } = task
  const { settings: names, defaults } = videoRules(catalog, family)
  const specs = { ...defaults(model), ...settings }
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
    seconds: secondsOf(specs[names.seconds]),
    size: sizeOf(specs[names.resolution], specs[names.ratio]),
    prompt: null,
    error: errorOf(task),
    remixed_from_video_id: null,
    ...(nativeId === undefined ? {} : { task_id: nativeId }),
    ...usageOf(task),
    ...metadataOf(catalog, task),
  }
}
