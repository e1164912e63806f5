import { Type } from 'typebox'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageKind } from '../../../domain/catalog/image-rules.ts'

/** Shapes of images; each family's own rules are in its documentation. */

const open = { additionalProperties: true }

/** The bodies of both kinds: which alternative a body is of goes by its model. */
export function imageBodies({ imageFamilies }: Catalog) {
  const bodiesOf = (kind: ImageKind) => imageFamilies.flatMap(({ bodies }) => bodies[kind] ?? [])
  const generations = bodiesOf('generation')
  // What generations alone have is taken by edits where it asks for nothing.
  const knownExtraFields = generations
    .map(({ properties }) => Object.keys(properties).join(' '))
    .join(' ')
  return {
    generation: Type.Union(generations),
    edit: Type.Union(bodiesOf('edit'), {
      description:
        'As `multipart/form-data` pictures are the parts `image`, `image[]`, `mask`, and URLs `image_urls[]`.',
      knownExtraFields,
    }),
  }
}

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
    model: Type.String({ description: 'One that makes edits.' }),
    prompt: Type.String(),
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
