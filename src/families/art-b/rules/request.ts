import { imageDataUriFault, isDataUri } from '../../../domain/families/checks/data-uri.ts'
import {
  isPresent,
  optionalBoolean,
  optionalChoice,
  own,
  refuse,
  refuseMembers,
  text,
} from '../../../domain/families/checks/fields.ts'
import { acceptPrompt } from '../../../domain/families/checks/image-prompt.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type { ImageInput, ImageOrder, ImageRequest } from '../../../domain/families/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { acceptGroup } from './group.ts'
import { acceptSize, type ArtBModel, artBModel } from './models.ts'

/**
 * The pictures sent along as `image`: one, or a list; each a public URL or a complete data URI.
 * @throws RequestError naming the picture, DomainError `invalid_image_url`
 */
function acceptReferences(fields: JsonObject, model: ArtBModel): readonly ImageInput[] {
  const value = own(fields, 'image')
  if (value === undefined) return []
  if (!Array.isArray(value)) return [reference(value, 'image')]
  if (value.length === 0) return refuse('image', '`image` must hold at least one picture')
  if (value.length > model.maxReferences)
    return refuse(
      'image',
      `\`image\` must hold at most ${model.maxReferences} pictures with ${model.name}`,
    )
  return value.map((url: unknown, index) => reference(url, `image[${index}]`))
}

function reference(value: unknown, param: string): ImageInput {
  if (typeof value === 'string' && isDataUri(value)) {
    const fault = imageDataUriFault(value)
    if (fault !== undefined) return refuse(param, `\`${param}\` ${fault}`)
    if (/^data:image\/webp/i.test(value))
      return refuse(param, `\`${param}\` must be a PNG or JPEG picture as a data URI`)
    return { from: 'url', url: value, param }
  }
  if (typeof value !== 'string') return refuse(param, `\`${param}\` must be a string`)
  // Base64 without its head may be of any length: it is a URL that is none, and not a long one.
  if (!/^https?:/i.test(value)) throw notUrl(param)
  const url = text(value, param, MAX_URL_LENGTH)
  if (!isWebUrl(url)) throw notUrl(param)
  return { from: 'url', url, param }
}

/** In the words of this family's upstream, which clients look for. */
function notUrl(param: string): DomainError {
  return new DomainError(
    'invalid_image_url',
    `invalid url specified: \`${param}\` must be a public https:// or http:// URL, or a data URI like data:image/png;base64,<payload>`,
    { param },
  )
}

/** All field rules of the `artB-*` models. */

/** Far more than the 600 words these models read well. */
const MAX_PROMPT_LENGTH = 32_000
const MAX_WORD_LENGTH = 64
/** Members of other families of images, which upstream would silently ignore. */
const OTHERS = [
  'aspect_ratio',
  'background',
  'output_compression',
  'moderation',
  'input_fidelity',
  'partial_images',
  'image_urls',
] as const
/** Words the family knows; what else a body holds goes upstream as it came. */
const READ: ReadonlySet<string> = new Set([
  'prompt',
  'size',
  'n',
  'response_format',
  'quality',
  'style',
  'image',
  'watermark',
  'output_format',
  'stream',
  'tools',
  'sequential_image_generation',
  'sequential_image_generation_options',
  'optimize_prompt_options',
])

/**
 * Reads an order for an `artB-*` model or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`; DomainError `n_not_supported`, `invalid_image_url`
 */
export function readArtBOrder(order: ImageOrder): ImageRequest {
  const { kind, fields } = order
  const model = artBModel(order.model)
  invariant(model, `the family was chosen by its model: ${order.model}`)
  const prompt = acceptPrompt(fields, MAX_PROMPT_LENGTH)
  acceptCount(fields)
  refuseOtherInputs(order)
  refuseMembers(fields, OTHERS, model.name)
  const size = isPresent(fields, 'size') ? acceptSize(own(fields, 'size'), model) : undefined
  const delivery = optionalChoice(fields, 'response_format', ['url', 'b64_json']) ?? 'url'
  // Taken for those who send them to every model; upstream has neither.
  for (const name of ['quality', 'style'])
    if (isPresent(fields, name)) text(fields[name], name, MAX_WORD_LENGTH)
  const watermark = optionalBoolean(fields, 'watermark') ?? true
  const format = optionalChoice(fields, 'output_format', ['png', 'jpeg'])
  const optimize = acceptOptimize(fields)
  const inputs = acceptReferences(fields, model)
  const { count, streamed, searches, body } = acceptGroup(fields, model, inputs.length)
  const settings = {
    n: count,
    layers: inputs.length > 0 ? model.mostLayers : 1,
    ...(size === undefined ? {} : { size }),
    ...(format === undefined ? {} : { output_format: format }),
  }
  return {
    kind,
    model: model.name,
    body: {
      ...Object.fromEntries(Object.entries(fields).filter(([name]) => !READ.has(name))),
      prompt,
      watermark,
      ...(size === undefined ? {} : { size }),
      ...(format === undefined ? {} : { output_format: format }),
      ...(optimize === undefined ? {} : { optimize_prompt_options: optimize }),
      ...body,
    },
    inputs,
    mask: undefined,
    delivery,
    streamed,
    count,
    facts: {
      inputs: { text: 1, image: inputs.length },
      tools: searches ? ['web_search'] : [],
      settings,
    },
  }
}

/** One picture, or a group that is asked for by its own words. */
function acceptCount(fields: JsonObject): void {
  const n = own(fields, 'n')
  if (typeof n === 'number' && Number.isSafeInteger(n) && n > 1)
    throw new DomainError(
      'n_not_supported',
      '`n` must be 1 with this model: ask for several images by `sequential_image_generation`',
      { param: 'n' },
    )
  if (n !== undefined && n !== 1) refuse('n', '`n` must be 1, or be left out')
}

/** Pictures are sent along by one word alone. */
function refuseOtherInputs({ fields, uploads }: ImageOrder): void {
  const other = ['images', 'mask'].find((name) => isPresent(fields, name)) ?? uploads[0]?.name
  if (other !== undefined)
    refuse(other, `\`${other}\` is not taken by this model: send pictures as \`image\``)
}

function acceptOptimize(fields: JsonObject): JsonObject | undefined {
  const options = own(fields, 'optimize_prompt_options')
  if (options === undefined) return undefined
  const param = 'optimize_prompt_options'
  if (!isJsonObject(options)) return refuse(param, `\`${param}\` must be an object`)
  const mode = own(options, 'mode')
  if (mode !== undefined && mode !== 'standard' && mode !== 'fast')
    return refuse(`${param}.mode`, `\`${param}.mode\` must be one of standard, fast`)
  return options
}
