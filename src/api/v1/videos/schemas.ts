import { Type } from 'typebox'

/** Shapes of videos that are asked for without knowing their family. */

const Seconds = Type.Integer({ description: 'Unix seconds.' })
const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

export const VideoSchema = Type.Object({
  id: Type.String({ description: '`video_<ULID>`; the native id is taken as well.' }),
  object: Type.Literal('video'),
  model: Type.String(),
  status: Type.Enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: Type.Integer({ description: '0, or 100 when it is there.' }),
  created_at: Seconds,
  completed_at: orNull(Seconds),
  expires_at: Type.Null(),
  seconds: orNull(Type.String()),
  size: orNull(Type.String()),
  prompt: Type.Null({ description: 'Prompts are not kept.' }),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  remixed_from_video_id: Type.Null(),
  task_id: Type.Optional(Type.String({ description: 'Id of the task in its own family.' })),
  usage: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Signed links; they expire.' }),
  ),
})

export const VideoListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(VideoSchema),
  first_id: orNull(Type.String()),
  last_id: orNull(Type.String()),
  has_more: Type.Boolean(),
})

export const DeletedVideoSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('video.deleted'),
  deleted: Type.Literal(true),
})

export const VideoParamsSchema = Type.Object({
  id: Type.String({ description: 'The id of the video, or of the task in its own family.' }),
})

const MAX_PAGE_VIDEOS = 100
export const DEFAULT_PAGE_VIDEOS = 20

export const VideoListQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ description: 'Id of a video: the page begins after it.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE_VIDEOS, default: DEFAULT_PAGE_VIDEOS }),
  ),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { description: 'By the time of creation; default `desc`.' }),
  ),
})

export const VideoContentQuerySchema = Type.Object({
  variant: Type.Optional(
    Type.Enum(['video', 'thumbnail', 'spritesheet'], {
      description: 'Default `video`; which others there are goes by family.',
    }),
  ),
})
