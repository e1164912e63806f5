import { Type } from 'typebox'
import type { ImageKind } from '../../../domain/families/image-rules.ts'
import type { AlsoKnown } from '../../kit/foreign-members.ts'

/** Shapes of images; each family's own rules are in its documentation. */

const open = { additionalProperties: true }

const common = {
  model: Type.String({ description: 'Selects the family: `image-*`, `gen-*` or `artB-*`.' }),
  prompt: Type.String(),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: 'Default 1.' })),
  size: Type.Optional(Type.String({ description: '`<width>x<height>`, a tier, or `auto`.' })),
  aspect_ratio: Type.Optional(Type.String()),
  quality: Type.Optional(Type.String()),
  background: Type.Optional(Type.String()),
  output_format: Type.Optional(Type.Enum(['png', 'jpeg', 'webp'])),
  output_compression: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  response_format: Type.Optional(Type.Enum(['b64_json', 'url'])),
  moderation: Type.Optional(Type.Enum(['low', 'auto'])),
  user: Type.Optional(Type.String()),
}

export const GenerationBodySchema = Type.Object(
  {
    ...common,
    image: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 14 })], {
        description: 'Of `artB-*`: public URLs or data URIs of pictures to start from.',
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({ description: 'Events instead of one answer, with models that stream.' }),
    ),
  },
  { ...open, examples: [{ model: 'image-2', prompt: 'a paper boat in a puddle' }] },
)

const Reference = Type.Object({
  image_url: Type.Optional(Type.String({ description: 'A public URL or a data URI.' })),
  file_id: Type.Optional(Type.String({ description: 'An id of `/v1/files`.' })),
})

export const EditBodySchema = Type.Object(
  {
    ...common,
    images: Type.Optional(Type.Array(Reference, { maxItems: 14 })),
    image_urls: Type.Optional(
      Type.Array(Type.String(), { maxItems: 14, description: 'Public URLs, of `gen-*` alone.' }),
    ),
    mask: Type.Optional(Reference),
    input_fidelity: Type.Optional(Type.Enum(['high', 'low'])),
  },
  {
    ...open,
    description:
      'As `multipart/form-data` pictures are the parts `image`, `image[]`, `mask`, and URLs `image_urls[]`.',
    examples: [
      {
        model: 'image-2',
        prompt: 'make the boat red',
        images: [{ image_url: 'https://media.example.test/boat.png' }],
      },
    ],
  },
)

const Seconds = Type.Integer({ description: 'Unix seconds.' })

const Count = Type.Integer({ minimum: 0 })

export const ImagesSchema = Type.Object(
  {
    created: Type.Integer({ description: 'Unix seconds.' }),
    data: Type.Array(
      Type.Object(
        {
          b64_json: Type.Optional(Type.String()),
          url: Type.Optional(
            Type.String({ description: 'Leads to the image for about 24 hours.' }),
          ),
          revised_prompt: Type.Optional(Type.String()),
          error: Type.Optional(
            Type.Object(
              { code: Type.String(), message: Type.String() },
              { description: 'Of several images, why this one is not there.' },
            ),
          ),
        },
        open,
      ),
    ),
    usage: Type.Optional(
      Type.Object(
        { input_tokens: Type.Optional(Count), output_tokens: Count, total_tokens: Count },
        open,
      ),
    ),
  },
  { ...open, description: 'With `stream`, an event for each image and one for all of them.' },
)

export const AsyncEditBodySchema = Type.Object(
  {
    model: common.model,
    prompt: common.prompt,
    response_format: Type.Optional(Type.Enum(['url'])),
  },
  {
    ...open,
    description: 'Sent as `multipart/form-data`; pictures are the parts `image`, `image[]`.',
  },
)

const task = {
  id: Type.String({ description: '`image_<ULID>`' }),
  object: Type.Literal('image.generation.task'),
  model: Type.String(),
  created_at: Seconds,
}

export const CreatedImageTaskSchema = Type.Object({ ...task, status: Type.Literal('pending') })

export const ImageTaskParamsSchema = Type.Object({ id: Type.String() })

export const ImageTaskSchema = Type.Object(
  {
    ...task,
    status: Type.Enum(['pending', 'in_progress', 'completed', 'failed']),
    created: Type.Optional(Seconds),
    data: Type.Optional(ImagesSchema.properties.data),
    usage: ImagesSchema.properties.usage,
    completed_at: Type.Optional(Seconds),
    expires_at: Type.Optional(
      Type.Integer({ description: 'Unix seconds. After this `data` is empty.' }),
    ),
    error: Type.Optional(
      Type.Object({
        code: Type.String(),
        message: Type.String(),
        type: Type.String(),
        param: Type.Null(),
      }),
    ),
  },
  open,
)

/** Members of images that only some families have, and that the schemas do not describe. */
const ofImages = `
  image images mask stream partial_images watermark style tools
  sequential_image_generation sequential_image_generation_options optimize_prompt_options`

export const alsoInImages = {
  generation: { '': ofImages },
  edit: { '': `${ofImages} input_fidelity` },
} as const satisfies Readonly<Record<ImageKind, AlsoKnown>>
