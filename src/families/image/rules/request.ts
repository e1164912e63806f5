import { type Static, Type } from 'typebox'
import {
  editPictures,
  MAX_PICTURES,
  PicturesSchema,
  refuseTexts,
  acceptImageBytes,
} from '../../../domain/catalog/checks/pictures.ts'
import { optionalChoice, refuse } from '../../../domain/catalog/checks/fields.ts'
import { passedImageMembers } from '../../../domain/catalog/checks/price-members.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import {
  parsePixels,
  type ImageInput,
  type ImageOrder,
  type ImageRequest,
  type ImageUpload,
} from '../../../domain/catalog/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { NotBlank, readBody, RefusedMember } from '../../../kernel/body.ts'
import { membersGiven, pickMembers } from '../../../kernel/json.ts'
import {
  aspectRatios,
  formatPixels,
  imageModel,
  type ImageModel,
  imageModels,
  pixelFault,
  pixelsOf,
  type ImageTier,
  tiers,
} from './models.ts'

/**
 * The bodies of the `image-*` models, and the rules that depend on the model or on several members.
 */

/** The largest uploaded picture that upstream accepts. */
const MAX_UPLOAD_BYTES = 50 * 1024 * 1024
const DEFAULT_SIZE = '1024x1024'

const common = {
  model: Type.Enum(imageModels.map(({ name }) => name)),
  prompt: Type.String({ maxLength: 32_000, ...NotBlank }),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 1 })),
  size: Type.Optional(
    Type.String({
      maxLength: 32,
      description: '`<width>x<height>` or `auto`; the 2.5 models also accept a size tier.',
    }),
  ),
  aspect_ratio: Type.Optional(
    Type.Enum([...aspectRatios], { description: 'Only with a size tier of the 2.5 models.' }),
  ),
  quality: Type.Optional(
    Type.Unsafe<unknown>({
      documented: {
        enum: [...new Set(imageModels.flatMap(({ qualities }) => qualities))],
        description: 'Allowed values depend on the model.',
      },
    }),
  ),
  background: Type.Optional(Type.Enum(['transparent', 'opaque', 'auto'])),
  output_compression: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'Only with the output format jpeg or webp.',
    }),
  ),
  response_format: Type.Optional(Type.Enum(['b64_json', 'url'], { default: 'b64_json' })),
  moderation: Type.Optional(Type.Enum(['low', 'auto'])),
  user: Type.Optional(Type.String({ maxLength: 512 })),
  stream: Type.Optional(
    Type.Boolean({
      description: 'true: server-sent events in place of one answer; `n` must be 1.',
    }),
  ),
  partial_images: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 3,
      description: 'Only with `stream`: the most previews. Only the 2.5 models have any.',
    }),
  ),
}
const ofEdits = RefusedMember('is accepted only by /v1/images/edits with this model')
const open = { additionalProperties: true } as const

/** Other members of a body go upstream unchanged. */
export const imageBodies = {
  generation: Type.Object(
    {
      ...common,
      output_format: Type.Optional(Type.Enum(['png', 'jpeg', 'webp'])),
      image: ofEdits,
      images: ofEdits,
      mask: ofEdits,
    },
    {
      ...open,
      named: 'ImageGeneration',
      examples: [{ model: 'image-2', prompt: 'a paper boat in a puddle' }],
    },
  ),
  edit: Type.Object(
    {
      ...common,
      ...PicturesSchema.properties,
      output_format: Type.Optional(Type.Enum(['png', 'jpeg'])),
      image: RefusedMember('is accepted only in forms: send `images`'),
      input_fidelity: Type.Optional(
        Type.Enum(['high', 'low'], { description: 'Has an effect only with the 2.5 models.' }),
      ),
    },
    {
      ...open,
      named: 'ImageEdit',
      examples: [
        {
          model: 'image-2',
          prompt: 'make the boat red',
          images: [{ image_url: 'https://media.example.test/boat.png' }],
        },
      ],
    },
  ),
}

/** An order of either kind; members that only edits have are absent from generations. */
type Body = Omit<Static<typeof imageBodies.generation>, 'images' | 'image' | 'mask'> &
  Pick<Static<typeof imageBodies.edit>, 'images' | 'mask' | 'input_fidelity'>

const known = knownModel(imageModel)

/**
 * Reads an order for an `image-*` model or refuses it.
 *
 * @throws DomainError `invalid_request` as `readBody` does
 */
export function readImageOrder(order: ImageOrder): ImageRequest {
  const { kind } = order
  const isEdit = kind === 'edit'
  if (isEdit) refuseTexts(order, 'send `image`, `image[]`, `mask`')
  const model = known(order.model)
  const schema = imageBodies[kind]
  const body: Body = readBody(schema, { ...order.fields, model: model.name })
  const { prompt, n = 1, moderation, user, input_fidelity } = body
  const size = sizeOf(body, model)
  const quality = optionalChoice(body, 'quality', model.qualities) ?? model.defaultQuality
  const settings = { n, size, quality, ...formatOf(body) }
  const isOfTokens = model.billedBy === 'token'
  const streamed = body.stream === true
  if (streamed && n > 1) return refuse('n', '`n` must be 1 with `stream`')
  const { pictures, mask } = isEdit ? picturesOf(order, body) : { pictures: [], mask: undefined }
  return {
    kind,
    model: model.name,
    body: {
      ...passedImageMembers(schema, order.fields),
      prompt,
      ...settings,
      ...membersGiven<unknown>({
        moderation,
        user,
        input_fidelity: isEdit && isOfTokens ? input_fidelity : undefined,
        partial_images: streamed && model.hasUpstreamEvents ? body.partial_images : undefined,
      }),
    },
    inputs: pictures,
    mask,
    delivery: body.response_format ?? 'b64_json',
    streamed,
    count: n,
    facts: {
      inputs: { text: 1, image: pictures.length + (mask === undefined ? 0 : 1) },
      tools: [],
      settings: { ...settings, prompt_characters: prompt.length },
    },
  }
}

/** The pictures of an edit. @throws DomainError naming the member or part */
function picturesOf(order: ImageOrder, body: Body) {
  const found = editPictures(order, body, uploaded)
  const name = order.form === 'json' ? 'images' : 'image'
  if (found.pictures.length === 0) return refuse(name, `\`${name}\` must hold at least one picture`)
  if (found.pictures.length > MAX_PICTURES)
    return refuse(name, `\`${name}\` must hold at most ${MAX_PICTURES} pictures`)
  return found
}

function uploaded({ name, bytes }: ImageUpload): ImageInput {
  if (bytes.length >= MAX_UPLOAD_BYTES)
    return refuse(name, `\`${name}\` must be under ${MAX_UPLOAD_BYTES / 1024 / 1024} MiB`)
  return { from: 'upload', bytes, mediaType: acceptImageBytes(bytes, name) }
}

/** Pixels or `auto`, in upstream's form. */
function sizeOf({ size, aspect_ratio: ratio }: Body, model: ImageModel): string {
  const words = model.hasTiers ? ['auto', ...tiers] : ['auto']
  const said = `\`size\` must be <width>x<height> or ${words.length > 1 ? 'one of ' : ''}${words.join(', ')}`
  if (ratio !== undefined && !model.hasTiers)
    return refuse(
      'aspect_ratio',
      `\`aspect_ratio\` is not accepted by ${model.name}: send \`size\` in pixels`,
    )
  const tier = model.hasTiers ? tiers.find((known) => known === size) : undefined
  if (ratio !== undefined && size !== undefined && tier === undefined)
    return refuse(
      'aspect_ratio',
      '`aspect_ratio` is allowed only with a size of 1K, 2K or 4K, or without `size`',
    )
  if (tier !== undefined || ratio !== undefined) return tierPixels(tier ?? '1K', ratio ?? '1:1')
  if (size === undefined || size === 'auto') return size ?? DEFAULT_SIZE
  const pixels = parsePixels(size)
  if (pixels === undefined) return refuse('size', said)
  const fault = pixelFault(pixels)
  return fault === undefined ? formatPixels(pixels) : refuse('size', `\`size\` ${fault}`)
}

function tierPixels(tier: ImageTier, ratio: string): string {
  const pixels = pixelsOf(tier, ratio)
  invariant(pixels, `every ratio has pixels in every tier: ${ratio}`)
  return formatPixels(pixels)
}

function formatOf(body: Body) {
  const { output_format: format, background, output_compression } = body
  if (background === 'transparent' && format === 'jpeg')
    return refuse('background', '`background` cannot be transparent with `output_format` jpeg')
  if (output_compression !== undefined && (format ?? 'png') === 'png')
    return refuse(
      'output_compression',
      '`output_compression` is allowed only with `output_format` jpeg or webp',
    )
  return pickMembers(body, ['output_format', 'background', 'output_compression'])
}
