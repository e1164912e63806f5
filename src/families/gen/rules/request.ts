import { Buffer } from 'node:buffer'
import { type Static, type TProperties, Type } from 'typebox'
import {
  editPictures,
  isDataUri,
  MAX_PICTURES,
  PicturesSchema,
  refuseTexts,
  acceptImageBytes,
} from '../../../domain/catalog/checks/pictures.ts'
import {
  asksForNothing,
  optionalChoice,
  own,
  refuse,
  text,
} from '../../../domain/catalog/checks/fields.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/catalog/checks/media.ts'
import {
  parsePixels,
  type Pixels,
  type ImageInput,
  type ImageKind,
  type ImageOrder,
  type ImageRequest,
  type ImageUpload,
} from '../../../domain/catalog/image-rules.ts'
import { NotBlank, readBody } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  DEFAULT_TIER,
  genModel,
  type GenModel,
  genModels,
  isTier,
  ratioOfPixels,
  type GenTier,
  tierHolding,
  tierOfPixels,
} from './models.ts'

/**
 * The bodies of the `gen-*` models, and the rules that depend on the model or on several members.
 */

/** The largest picture, wherever it comes from. */
const INPUT_UNDER_BYTES = 10 * 1024 * 1024
/** In `facts`: the size is that of the base picture, which has not been read yet. */
export const INFERRED = 'inferred'

const common = {
  model: Type.Enum(genModels.map(({ name }) => name)),
  // Upstream bounds it by tokens; no model of the family reads as much.
  prompt: Type.String({ maxLength: 262_144, ...NotBlank }),
  n: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Must be 1.' }),
  ),
  size: Type.Optional(
    Type.String({
      maxLength: 32,
      description: '`<width>x<height>`, a size tier of the model, or `auto`.',
    }),
  ),
  aspect_ratio: Type.Optional(
    Type.Unsafe<unknown>({
      documented: { type: 'string', description: 'Allowed ratios depend on the model; or `auto`.' },
    }),
  ),
  response_format: Type.Optional(Type.Enum(['b64_json', 'url'], { default: 'b64_json' })),
  user: Type.Optional(Type.String({ maxLength: 512, description: 'Accepted and ignored.' })),
}

/** Members of edits only. A form may have URLs under either name, and may have a single one. */
const ofEdits = {
  ...PicturesSchema.properties,
  image_urls: Type.Optional(
    Type.Unsafe<unknown>({
      documented: {
        type: 'array',
        maxItems: MAX_PICTURES,
        items: { type: 'string', description: 'A public URL.' },
      },
    }),
  ),
}

const FOR_EDITS = /^(?:images?|image_urls|mask)(?:\[\])?$/

function bodyOf<const Members extends TProperties>(kind: ImageKind, members: Members) {
  const names = Object.keys(members).join(', ')
  // A member of another family is accepted if it only asks for the default; one that would be
  // ignored is refused.
  const check = (value: unknown, name: string) => {
    const isEdit = kind === 'edit'
    if (asksForNothing(name, value) || (isEdit && name === 'image_urls[]')) return undefined
    return !isEdit && FOR_EDITS.test(name)
      ? 'is accepted only by /v1/images/edits with this model'
      : `is not accepted by this model, which accepts ${names}`
  }
  const named = kind === 'edit' ? 'GenImageEdit' : 'GenImageGeneration'
  return Type.Object(members, { named, additionalProperties: Type.Unsafe<unknown>({ check }) })
}

export const genBodies = {
  generation: bodyOf('generation', common),
  edit: bodyOf('edit', { ...common, ...ofEdits }),
}

/**
 * The pictures of an edit: files first, then URLs, in any mix.
 * @throws DomainError `invalid_request` naming the member or part, `image_too_large`
 */
function editInputs(order: ImageOrder, body: Partial<Static<typeof genBodies.edit>>) {
  const { form, fields } = order
  // `image` goes before `image[]`.
  const uploads = order.uploads.toSorted((a, b) => a.name.length - b.name.length)
  const { pictures, mask } = editPictures({ form, uploads }, body, uploaded)
  const inputs = [...pictures.map(atHand), ...ofUrls(fields)]
  const name = form === 'json' ? 'images' : 'image'
  if (inputs.length === 0)
    return refuse(name, `an edit needs a picture, in \`${name}\` or \`image_urls\``)
  if (inputs.length > MAX_PICTURES)
    return refuse(
      name,
      `\`${name}\` and \`image_urls\` must hold at most ${MAX_PICTURES} pictures together`,
    )
  return { inputs, mask: mask && atHand(mask) }
}

/** Upstream takes bytes only: the gateway decodes a data URI and fetches a URL. */
function atHand(input: ImageInput): ImageInput {
  if (input.from === 'file') return { ...input, underBytes: INPUT_UNDER_BYTES }
  if (input.from !== 'url') return input
  const { url, param } = input
  if (!isDataUri(url)) return { from: 'remote', url, param, underBytes: INPUT_UNDER_BYTES }
  return uploaded({ name: param, bytes: Buffer.from(url.slice(url.indexOf(',') + 1), 'base64') })
}

function uploaded({ name, bytes }: ImageUpload): ImageInput {
  if (bytes.length >= INPUT_UNDER_BYTES)
    throw new DomainError('image_too_large', `\`${name}\` must be under 10 MB`, { param: name })
  return { from: 'upload', bytes, mediaType: acceptImageBytes(bytes, name) }
}

/** `image_urls[]` of a form, `image_urls` of form or JSON; a single URL need not be a list. */
function ofUrls(fields: JsonObject): readonly ImageInput[] {
  return ['image_urls', 'image_urls[]'].flatMap((name) => {
    const value = own(fields, name) ?? []
    const urls: unknown = typeof value === 'string' ? [value] : value
    if (!Array.isArray(urls)) return refuse(name, `\`${name}\` must be a list of URLs`)
    if (urls.length > MAX_PICTURES)
      return refuse(name, `\`${name}\` must hold at most ${MAX_PICTURES} URLs`)
    return urls.map((url: unknown, index) => remote(url, `image_urls[${index}]`))
  })
}

function remote(value: unknown, param: string): ImageInput {
  const url = text(value, param, MAX_URL_LENGTH)
  return isWebUrl(url)
    ? { from: 'remote', url, param, underBytes: INPUT_UNDER_BYTES }
    : refuse(param, `\`${param}\` must be a public https:// or http:// URL`)
}

const known = knownModel(genModel)

/**
 * Reads an order for a `gen-*` model or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`, DomainError `n_not_supported`, `image_too_large`
 */
export function readGenOrder(order: ImageOrder): ImageRequest {
  const { kind } = order
  const model = known(order.model)
  const isEdit = kind === 'edit'
  if (isEdit) refuseTexts(order, 'URLs go in `image_urls[]`')
  const body = readBody(genBodies[kind], { ...order.fields, model: order.model })
  if ((body.n ?? 1) > 1)
    throw new DomainError('n_not_supported', `\`n\` must be 1 with ${model.name}`, { param: 'n' })
  const { tier, ratio } = acceptSize(body, model)
  const { inputs, mask } = isEdit ? editInputs(order, body) : { inputs: [], mask: undefined }
  const infers = isEdit && model.infersSize && tier === undefined
  const size = infers ? INFERRED : (tier ?? DEFAULT_TIER)
  const shape = ratio === undefined ? {} : { aspect_ratio: ratio }
  return {
    kind,
    model: model.name,
    body: { prompt: body.prompt, ...(model.sendsSize ? { size } : {}), ...shape },
    inputs,
    mask,
    delivery: body.response_format ?? 'b64_json',
    streamed: false,
    count: 1,
    facts: {
      inputs: { text: 1, image: inputs.length + (mask === undefined ? 0 : 1) },
      tools: [],
      settings: { size, ...shape, prompt_characters: body.prompt.length },
    },
  }
}

/**
 * The size of an edit without one, once its base picture is known: the smallest tier that is not
 * smaller than it.
 */
export function fitGenBase(request: ImageRequest): ((base: Pixels) => ImageRequest) | undefined {
  if (request.body['size'] !== INFERRED) return undefined
  return (base) => {
    const size = tierHolding(base, genModel(request.model)?.tiers ?? []) ?? DEFAULT_TIER
    return { ...request, body: { ...request.body, size } }
  }
}

interface Size {
  readonly tier: GenTier | undefined
  readonly ratio: string | undefined
}

/**
 * A tier by its name, or pixels that match a tier and an aspect ratio; an explicit name has
 * priority.
 */
function acceptSize(
  body: { readonly size?: string; readonly aspect_ratio?: unknown },
  model: GenModel,
): Size {
  const { size = 'auto' } = body
  const { name, tiers, aspectRatios } = model
  const named = optionalChoice(body, 'aspect_ratio', ['auto', ...aspectRatios], ` with ${name}`)
  const ratio = named === 'auto' ? undefined : named
  if (size === 'auto') return { tier: undefined, ratio }
  if (isTier(size) && tiers.includes(size)) return { tier: size, ratio }
  const said = `\`size\` must be one of ${[...tiers, 'auto'].join(', ')} or <width>x<height> with ${name}`
  const pixels = parsePixels(size)
  if (pixels === undefined) return refuse('size', said)
  const tier = tierOfPixels(pixels, tiers)
  const found = ratio ?? ratioOfPixels(pixels, aspectRatios)
  if (tier === undefined) return refuse('size', `${said}; ${size} is not close to any of them`)
  return found === undefined
    ? refuse(
        'size',
        `\`size\` ${size} is not close to any of the aspect ratios ${aspectRatios.join(', ')}`,
      )
    : { tier, ratio: found }
}
