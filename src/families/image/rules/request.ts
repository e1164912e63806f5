import {
  editPictures,
  MAX_PICTURES,
  PicturesSchema,
  refuseTexts,
} from '../../../domain/families/checks/edit-pictures.ts'
import {
  isPresent,
  optionalBoolean,
  optionalChoice,
  optionalInteger,
  refuse,
  refuseMembers,
  text,
} from '../../../domain/families/checks/fields.ts'
import { acceptImageBytes } from '../../../domain/families/checks/image-bytes.ts'
import { acceptPrompt } from '../../../domain/families/checks/image-prompt.ts'
import { parsePixels } from '../../../domain/families/checks/pixels.ts'
import type {
  ImageInput,
  ImageOrder,
  ImageRequest,
  ImageUpload,
} from '../../../domain/families/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { readBody } from '../../../kernel/body.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  aspectRatios,
  formatPixels,
  imageModel,
  type ImageModel,
  pixelFault,
  pixelsOf,
  type Tier,
  tiers,
} from './models.ts'

/** Of an uploaded picture: upstream takes no larger one. */
const MAX_UPLOAD_BYTES = 50 * 1024 * 1024

interface EditInputs {
  readonly inputs: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

/** The pictures of an edit. @throws DomainError naming the member or part */
function acceptEditInputs(order: ImageOrder): EditInputs {
  const { form, fields } = order
  refuseTexts(order, 'send `image`, `image[]`, `mask`')
  if (isPresent(fields, 'image')) refuse('image', '`image` is of forms: send `images`')
  const { pictures, mask } = editPictures(order, readBody(PicturesSchema, fields), uploaded)
  const name = form === 'json' ? 'images' : 'image'
  if (pictures.length === 0) return refuse(name, `\`${name}\` must hold at least one picture`)
  if (pictures.length > MAX_PICTURES)
    return refuse(name, `\`${name}\` must hold at most ${MAX_PICTURES} pictures`)
  return { inputs: pictures, mask }
}

function uploaded({ name, bytes }: ImageUpload): ImageInput {
  if (bytes.length >= MAX_UPLOAD_BYTES)
    return refuse(name, `\`${name}\` must be under ${MAX_UPLOAD_BYTES / 1024 / 1024} MiB`)
  return { from: 'upload', bytes, mediaType: acceptImageBytes(bytes, name) }
}

/** All field rules of the `image-*` models. */

const MAX_PROMPT_LENGTH = 32_000
const MAX_COUNT = 10
const MAX_PARTIAL_IMAGES = 3
const MAX_COMPRESSION = 100
const MAX_USER_LENGTH = 512
const DEFAULT_SIZE = '1024x1024'
/** Words the family knows; what else a body holds goes upstream as it came. */
const READ = [
  'prompt',
  'n',
  'size',
  'aspect_ratio',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'response_format',
  'moderation',
  'user',
  'stream',
  'partial_images',
  'input_fidelity',
  'images',
  'image',
  'mask',
] as const

/** Members of other families of images and of other forms of a body, which would not be heeded. */
const OTHERS = [
  'image_urls',
  'image_urls[]',
  'watermark',
  'style',
  'tools',
  'sequential_image_generation',
  'sequential_image_generation_options',
  'optimize_prompt_options',
] as const

const NO_INPUTS: EditInputs = { inputs: [], mask: undefined }

/**
 * Reads an order for an `image-*` model or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`
 */
export function readImageOrder(order: ImageOrder): ImageRequest {
  const { kind, fields } = order
  const model = imageModel(order.model)
  invariant(model, `the family was chosen by its model: ${order.model}`)
  const prompt = acceptPrompt(fields, MAX_PROMPT_LENGTH)
  refuseMembers(fields, OTHERS, model.name)
  const count = optionalInteger(fields, 'n', 1, MAX_COUNT) ?? 1
  const size = acceptSize(fields, model)
  const quality = optionalChoice(fields, 'quality', model.qualities) ?? model.defaultQuality
  const format = acceptFormat(order)
  const delivery = optionalChoice(fields, 'response_format', ['b64_json', 'url']) ?? 'b64_json'
  const moderation = optionalChoice(fields, 'moderation', ['low', 'auto'])
  const user = isPresent(fields, 'user') ? text(fields['user'], 'user', MAX_USER_LENGTH) : undefined
  const fidelity = acceptFidelity(order, model)
  const { streamed, previews } = acceptStream(fields, model, count)
  const { inputs, mask } = kind === 'edit' ? acceptEditInputs(order) : noPictures(order)
  const settings = { n: count, size, quality, ...format }
  return {
    kind,
    model: model.name,
    body: {
      ...Object.fromEntries(
        Object.entries(fields).filter(([name]) => !READ.some((read) => read === name)),
      ),
      prompt,
      ...settings,
      ...(moderation === undefined ? {} : { moderation }),
      ...(user === undefined ? {} : { user }),
      ...(fidelity === undefined ? {} : { input_fidelity: fidelity }),
      ...(previews === undefined ? {} : { partial_images: previews }),
    },
    inputs,
    mask,
    delivery,
    streamed,
    count,
    facts: {
      inputs: { text: 1, image: inputs.length + (mask === undefined ? 0 : 1) },
      tools: [],
      settings: { ...settings, prompt_characters: prompt.length },
    },
  }
}

/** The 2.5 models stream; of `image-2` both are taken and not sent, and its answer is whole. */
function acceptStream(fields: JsonObject, model: ImageModel, count: number) {
  const stream = optionalBoolean(fields, 'stream') ?? false
  const previews = optionalInteger(fields, 'partial_images', 0, MAX_PARTIAL_IMAGES)
  const streamed = stream && model.billedBy === 'token'
  if (streamed && count > 1) return refuse('n', '`n` must be 1 in a stream')
  return { streamed, previews: streamed ? previews : undefined }
}

function noPictures({ fields }: ImageOrder): EditInputs {
  const sent = ['images', 'image', 'mask'].find((name) => isPresent(fields, name))
  return sent === undefined
    ? NO_INPUTS
    : refuse(sent, `\`${sent}\` is taken by /v1/images/edits alone with this model`)
}

/** Pixels or `auto`, as upstream takes them. */
function acceptSize(fields: JsonObject, model: ImageModel): string {
  const words = model.hasTiers ? ['auto', ...tiers] : ['auto']
  const said = `\`size\` must be <width>x<height> or ${words.length > 1 ? 'one of ' : ''}${words.join(', ')}`
  const size = isPresent(fields, 'size') ? text(fields['size'], 'size', 32) : undefined
  const tier = model.hasTiers ? tiers.find((known) => known === size) : undefined
  const ratio = acceptRatio(fields, model)
  if (ratio !== undefined && size !== undefined && tier === undefined)
    return refuse('aspect_ratio', '`aspect_ratio` goes with a size of 1K, 2K or 4K, or with none')
  if (tier !== undefined || ratio !== undefined) return tierPixels(tier ?? '1K', ratio ?? '1:1')
  if (size === undefined || size === 'auto') return size ?? DEFAULT_SIZE
  const pixels = parsePixels(size)
  if (pixels === undefined) return refuse('size', said)
  const fault = pixelFault(pixels)
  return fault === undefined ? formatPixels(pixels) : refuse('size', `\`size\` ${fault}`)
}

function acceptRatio(fields: JsonObject, model: ImageModel): string | undefined {
  if (!model.hasTiers && isPresent(fields, 'aspect_ratio'))
    return refuse(
      'aspect_ratio',
      `\`aspect_ratio\` is not taken by ${model.name}: say it in \`size\`, as pixels`,
    )
  return optionalChoice(fields, 'aspect_ratio', aspectRatios)
}

function tierPixels(tier: Tier, ratio: string): string {
  const pixels = pixelsOf(tier, ratio)
  invariant(pixels, `every ratio has pixels in every tier: ${ratio}`)
  return formatPixels(pixels)
}

type Format = Readonly<Record<string, string | number>>

function acceptFormat({ kind, fields }: ImageOrder): Format {
  const formats = kind === 'edit' ? (['png', 'jpeg'] as const) : (['png', 'jpeg', 'webp'] as const)
  const format = optionalChoice(fields, 'output_format', formats)
  const background = optionalChoice(fields, 'background', ['transparent', 'opaque', 'auto'])
  const compression = optionalInteger(fields, 'output_compression', 0, MAX_COMPRESSION)
  if (background === 'transparent' && format === 'jpeg')
    return refuse('background', '`background` cannot be transparent in a jpeg')
  if (compression !== undefined && (format ?? 'png') === 'png')
    return refuse(
      'output_compression',
      '`output_compression` goes with an `output_format` of jpeg or webp',
    )
  return {
    ...(format === undefined ? {} : { output_format: format }),
    ...(background === undefined ? {} : { background }),
    ...(compression === undefined ? {} : { output_compression: compression }),
  }
}

/** The 2.5 models' edits alone have it; `image-2` goes without. */
function acceptFidelity({ kind, fields }: ImageOrder, model: ImageModel): string | undefined {
  const fidelity = optionalChoice(fields, 'input_fidelity', ['high', 'low'])
  return kind === 'edit' && model.billedBy === 'token' ? fidelity : undefined
}
