import { Type } from 'typebox'
import type { AlsoKnown } from '../../../api/kit/foreign-members.ts'

/** Shapes of the `/provA` task interface. */

const TaskStatusSchema = Type.Enum(
  ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'],
  { description: 'State of the task.' },
)

const Url = Type.String({
  description: 'Public https:// URL, data: URI (images and audio) or asset://<id>.',
})

const ContentItemSchema = Type.Object(
  {
    type: Type.Enum(['text', 'image_url', 'video_url', 'audio_url']),
    role: Type.Optional(
      Type.Enum([
        'reference_image',
        'first_frame',
        'last_frame',
        'reference_video',
        'reference_audio',
      ]),
    ),
    text: Type.Optional(Type.String({ description: 'The prompt, of a text item.' })),
    image_url: Type.Optional(Type.Object({ url: Url })),
    video_url: Type.Optional(Type.Object({ url: Url })),
    audio_url: Type.Optional(Type.Object({ url: Url })),
  },
  { additionalProperties: true },
)

/** Of a creation, for the documentation: the rules themselves are the catalog's. */
export const CreateTaskBodySchema = Type.Object(
  {
    model: Type.String({ description: 'External model name or its version alias.' }),
    content: Type.Array(ContentItemSchema, {
      description: 'At least a prompt text or one reference.',
    }),
    duration: Type.Integer({ description: 'Seconds; -1 lets the model choose.' }),
    ratio: Type.Optional(
      Type.Enum(['adaptive', '16:9', '9:16', '1:1', '4:3', '3:4', '21:9'], {
        description: '`adaptive` only, where a 2.5 model has a first or last frame.',
      }),
    ),
    resolution: Type.Optional(Type.Enum(['480p', '720p', '1080p', '4k'])),
    generate_audio: Type.Optional(Type.Boolean()),
    watermark: Type.Optional(Type.Boolean()),
    return_last_frame: Type.Optional(Type.Boolean()),
    execution_expires_after: Type.Optional(
      Type.Integer({ minimum: 3_600, maximum: 259_200, description: 'Seconds.' }),
    ),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
    safety_identifier: Type.Optional(
      Type.String({ description: 'Stable hashed end-user identifier.' }),
    ),
    callback_url: Type.Optional(
      Type.String({ description: 'https:// URL whose host is publicly routable.' }),
    ),
    CallbackURL: Type.Optional(
      Type.String({ description: 'Alias of callback_url, which wins when both are present.' }),
    ),
    output_format: Type.Optional(Type.Enum(['mp4', 'mov'])),
    service_tier: Type.Optional(Type.Enum(['default', 'flex'])),
    draft: Type.Optional(Type.Boolean()),
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.Enum(['web_search']) }))),
    references: Type.Optional(
      Type.Object({
        audio: Type.Optional(
          Type.Array(Type.Union([Type.String(), Type.Object({ url: Type.String() })])),
        ),
      }),
    ),
  },
  {
    additionalProperties: true,
    examples: [
      {
        model: 'overseas-video-2-0-mini',
        content: [{ type: 'text', text: 'A paper boat crosses a puddle, slow push-in' }],
        duration: 5,
        resolution: '720p',
        ratio: '16:9',
      },
    ],
  },
)

/** Of a creation: taken or refused by some models. */
export const alsoInTasks: AlsoKnown = {
  '': `seed camera_fixed frames frames_per_second framespersecond frame_rate fps ProjectName`,
}

export const CreatedTaskSchema = Type.Object(
  {
    id: Type.String({ examples: ['cgt-20260102030405-x7k2p'] }),
    model: Type.Optional(Type.String({ description: 'Of the 2.5 models.' })),
  },
  {
    description: 'The task exists; x-platform-id names it for support.',
    examples: [{ id: 'cgt-20260102030405-x7k2p' }],
  },
)

export const TaskSchema = Type.Object({
  id: Type.String({ examples: ['cgt-20260102030405-x7k2p'] }),
  model: Type.String({ examples: ['overseas-video-2-0-mini'] }),
  status: TaskStatusSchema,
  content: Type.Optional(
    Type.Object({
      video_url: Type.Optional(Type.String({ description: 'Signed; valid about 24 hours.' })),
      last_frame_url: Type.Optional(Type.String()),
    }),
  ),
  usage: Type.Optional(
    Type.Object({
      completion_tokens: Type.Optional(Type.Integer()),
      total_tokens: Type.Optional(Type.Integer()),
      tool_usage: Type.Optional(Type.Record(Type.String(), Type.Integer())),
    }),
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
})

export const TaskListSchema = Type.Object({
  items: Type.Array(TaskSchema),
  total: Type.Integer(),
})

export const TaskParamsSchema = Type.Object({
  id: Type.String({ description: 'The task id, or the platform id of the x-platform-id header.' }),
})

/** Most ids one list may be asked for. */
export const MAX_LIST_IDS = 500

export const ListTasksQuerySchema = Type.Object({
  page_num: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1, description: 'From 1.' }),
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

export const DeletedTaskSchema = Type.Object({}, { description: 'Done.' })
