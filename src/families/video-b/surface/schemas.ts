import { Type } from 'typebox'

/** Shapes of the `/provB` video interface. */

const Url = Type.String({
  description: 'Public https:// URL, data:<type>;base64,<payload> or media_file://<file_id>.',
})

const ContentItemSchema = Type.Object(
  {
    type: Type.Enum(['text', 'image_url', 'video_url', 'audio_url']),
    role: Type.Optional(
      Type.Enum([
        'first_frame',
        'last_frame',
        'reference_image',
        'reference_video',
        'reference_audio',
      ]),
    ),
    text: Type.Optional(Type.String({ description: 'The prompt, of the one text item.' })),
    image_url: Type.Optional(Type.Object({ url: Url })),
    video_url: Type.Optional(Type.Object({ url: Url })),
    audio_url: Type.Optional(Type.Object({ url: Url })),
  },
  { additionalProperties: true },
)

/** Of a creation, for the documentation: the rules themselves are the catalog's. */
export const CreateVideoBodySchema = Type.Object(
  {
    model: Type.Enum(['h3-video', 'h3-video-max']),
    content: Type.Array(ContentItemSchema, {
      minItems: 1,
      maxItems: 13,
      description: 'One text and at most 12 media items.',
    }),
    duration: Type.Integer({ minimum: 4, maximum: 15, description: 'Seconds.' }),
    resolution: Type.Optional(Type.Enum(['480P', '768P', '2K'], { default: '768P' })),
    ratio: Type.Optional(
      Type.Enum(['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'], {
        description: 'Required, and not `adaptive`, where there is only text.',
      }),
    ),
    callback_url: Type.Optional(
      Type.String({ description: 'https:// URL whose host is publicly routable.' }),
    ),
  },
  {
    additionalProperties: true,
    examples: [
      {
        model: 'h3-video',
        content: [{ type: 'text', text: 'A lantern drifts over a lake' }],
        duration: 6,
        ratio: '16:9',
      },
    ],
  },
)

const PlatformId = Type.String({ examples: ['video_01JABCDEFGHJKMNPQRSTVWXYZ0'] })

export const CreatedVideoSchema = Type.Object(
  { task_id: Type.String({ examples: ['424010985738629'] }), platform_id: PlatformId },
  { description: 'The task exists; either id names it.' },
)

export const VideoSchema = Type.Object({
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
    content: Type.Optional(Type.Object({ url: Type.String({ description: 'Signed; expires.' }) })),
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
})

export const VideoParamsSchema = Type.Object({
  task_id: Type.String({ description: 'The task_id or the platform_id of the creation.' }),
})
