import { Buffer } from 'node:buffer'
import { isDataUri } from '../../../domain/families/checks/data-uri.ts'
import {
  asksForNothing,
  isPresent,
  optionalChoice,
  optionalInteger,
  own,
  refuse,
  text,
} from '../../../domain/families/checks/fields.ts'
import { acceptImageBytes } from '../../../domain/families/checks/image-bytes.ts'
import { acceptPrompt } from '../../../domain/families/checks/image-prompt.ts'
import { acceptImageReference } from '../../../domain/families/checks/image-reference.ts'
import { parsePixels, type Pixels } from '../../../domain/families/checks/pixels.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type {
  ImageInput,
  ImageOrder,
  ImageRequest,
  ImageUpload,
} from '../../../domain/families/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  DEFAULT_TIER,
  genModel,
  type GenModel,
  isTier,
  ratioOfPixels,
  type Tier,
  tierHolding,
  tierOfPixels,
} from './models.ts'

/** Pictures of an edit, the base picture among them and the mask besides. */
const MAX_INPUTS = 14
/** A picture is smaller, wherever it comes from. */
const INPUT_UNDER_BYTES = 10 * 1024 * 1024

interface EditInputs {
  /** The base picture first: files before URLs, each in the order they were sent. */
  readonly inputs: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

/**
 * The pictures of an edit, files and URLs mixed as the caller likes.
 * @throws RequestError naming the member or part, DomainError `image_too_large`
 */
function acceptEditInputs(order: ImageOrder): EditInputs {
  const { fields } = order
  const { files, mask } = order.form === 'json' ? ofJson(fields) : ofForm(order)
  const inputs = [...files, ...ofUrls(fields)]
  const [name, most] = [order.form === 'json' ? 'images' : 'image', `at most ${MAX_INPUTS}`]
  if (inputs.length === 0)
    return refuse(name, `an edit needs a picture, in \`${name}\` or \`image_urls\``)
  return inputs.length <= MAX_INPUTS
    ? { inputs, mask }
    : refuse(name, `\`${name}\` and \`image_urls\` must hold ${most} pictures together`)
}

interface Files {
  readonly files: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

function ofJson(fields: JsonObject): Files {
  const images = own(fields, 'images') ?? []
  const mask = own(fields, 'mask')
  if (!Array.isArray(images)) return refuse('images', '`images` must be an array')
  if (images.length > MAX_INPUTS)
    return refuse('images', `\`images\` must hold at most ${MAX_INPUTS} pictures`)
  const named = (value: unknown, at: string) => atHand(acceptImageReference(value, at))
  return {
    files: images.map((image: unknown, index) => named(image, `images[${index}]`)),
    mask: mask === undefined ? undefined : named(mask, 'mask'),
  }
}

/** Upstream takes bytes alone: a data URI is read, a URL will be fetched. */
function atHand(input: ImageInput): ImageInput {
  if (input.from === 'file') return { ...input, underBytes: INPUT_UNDER_BYTES }
  if (input.from !== 'url') return input
  const { url, param } = input
  if (!isDataUri(url)) return { from: 'remote', url, param, underBytes: INPUT_UNDER_BYTES }
  return uploaded({ name: param, bytes: Buffer.from(url.slice(url.indexOf(',') + 1), 'base64') })
}

function ofForm({ uploads, fields }: ImageOrder): Files {
  const texts = ['image', 'image[]', 'mask'].find((name) => Object.hasOwn(fields, name))
  if (texts !== undefined)
    return refuse(texts, `\`${texts}\` must be a file: URLs go in \`image_urls[]\``)
  const named = (name: string) => uploads.filter((upload) => upload.name === name)
  const [mask, second] = named('mask')
  const other = uploads.find(({ name }) => !['image', 'image[]', 'mask'].includes(name))
  if (other !== undefined)
    return refuse(
      other.name,
      `\`${other.name}\` takes no file: send \`image\`, \`image[]\`, \`mask\``,
    )
  if (second !== undefined) return refuse('mask', '`mask` must be one picture')
  return {
    files: [...named('image'), ...named('image[]')].map(uploaded),
    mask: mask && uploaded(mask),
  }
}

function uploaded({ name, bytes }: ImageUpload): ImageInput {
  if (bytes.length >= INPUT_UNDER_BYTES)
    throw new DomainError('image_too_large', `\`${name}\` must be under 10 MB`, { param: name })
  return { from: 'upload', bytes, mediaType: acceptImageBytes(bytes, name) }
}

/** `image_urls[]` of a form, `image_urls` of either; one URL may stand alone. */
function ofUrls(fields: JsonObject): readonly ImageInput[] {
  return ['image_urls', 'image_urls[]'].flatMap((name) => {
    const value = own(fields, name) ?? []
    const urls: unknown = typeof value === 'string' ? [value] : value
    if (!Array.isArray(urls)) return refuse(name, `\`${name}\` must be a list of URLs`)
    if (urls.length > MAX_INPUTS)
      return refuse(name, `\`${name}\` must hold at most ${MAX_INPUTS} URLs`)
    return urls.map((url: unknown, index) => remote(url, `image_urls[${index}]`))
  })
}

function remote(value: unknown, param: string): ImageInput {
  const url = text(value, param, MAX_URL_LENGTH)
  return isWebUrl(url)
    ? { from: 'remote', url, param, underBytes: INPUT_UNDER_BYTES }
    : refuse(param, `\`${param}\` must be a public https:// or http:// URL`)
}

/** All field rules of the `gen-*` models. */

/** Upstream bounds it by tokens; no model of the family reads as much. */
const MAX_PROMPT_LENGTH = 262_144
const MAX_USER_LENGTH = 512
const READ = ['prompt', 'n', 'size', 'aspect_ratio', 'response_format', 'user']
const READ_OF_EDITS: Readonly<Record<ImageOrder['form'], readonly string[]>> = {
  json: ['images', 'image_urls', 'mask'],
  multipart: ['image', 'image[]', 'image_urls', 'image_urls[]', 'mask'],
}
/** In `facts`: the size is that of the base picture, which has not been looked at yet. */
export const INFERRED = 'inferred'

/**
 * Reads an order for a `gen-*` model or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`, DomainError `n_not_supported`, `image_too_large`
 */
export function readGenOrder(order: ImageOrder): ImageRequest {
  const { kind, fields } = order
  const model = genModel(order.model)
  invariant(model, `the family was chosen by its model: ${order.model}`)
  const prompt = acceptPrompt(fields, MAX_PROMPT_LENGTH)
  acceptOne(fields, model)
  const { tier, ratio } = acceptSize(fields, model)
  const delivery = optionalChoice(fields, 'response_format', ['b64_json', 'url']) ?? 'b64_json'
  // Taken and not sent: upstream has no such word.
  if (isPresent(fields, 'user')) text(fields['user'], 'user', MAX_USER_LENGTH)
  refuseOthers(order, model)
  const { inputs, mask } = kind === 'edit' ? acceptEditInputs(order) : noPictures
  const infers = kind === 'edit' && model.infersSize && tier === undefined
  const size = infers ? INFERRED : (tier ?? DEFAULT_TIER)
  const shape = ratio === undefined ? {} : { aspect_ratio: ratio }
  return {
    kind,
    model: model.name,
    body: { prompt, ...(model.tellsSize ? { size } : {}), ...shape },
    inputs,
    mask,
    delivery,
    streamed: false,
    count: 1,
    facts: {
      inputs: { text: 1, image: inputs.length + (mask === undefined ? 0 : 1) },
      tools: [],
      settings: { size, ...shape, prompt_characters: prompt.length },
    },
  }
}

/** The size of an edit that names none, once its base picture is known: the tier that is not smaller. */
export function fitGenBase(request: ImageRequest): ((base: Pixels) => ImageRequest) | undefined {
  if (request.body['size'] !== INFERRED) return undefined
  return (base) => {
    const size = tierHolding(base, genModel(request.model)?.tiers ?? []) ?? DEFAULT_TIER
    return { ...request, body: { ...request.body, size } }
  }
}

const noPictures: EditInputs = { inputs: [], mask: undefined }

function acceptOne(fields: JsonObject, { name }: GenModel): void {
  const n = optionalInteger(fields, 'n', 1, Number.MAX_SAFE_INTEGER) ?? 1
  if (n > 1)
    throw new DomainError('n_not_supported', `\`n\` must be 1 with ${name}`, { param: 'n' })
}

interface Size {
  readonly tier: Tier | undefined
  readonly ratio: string | undefined
}

/** A tier by its name, or pixels that come to one and to an aspect ratio; what is named goes first. */
function acceptSize(fields: JsonObject, model: GenModel): Size {
  const { name, tiers, aspectRatios } = model
  const ratios = ['auto', ...aspectRatios]
  const named = optionalChoice(fields, 'aspect_ratio', ratios, ` with ${name}`)
  const ratio = named === 'auto' ? undefined : named
  const size = isPresent(fields, 'size') ? text(fields['size'], 'size', 32) : 'auto'
  if (size === 'auto') return { tier: undefined, ratio }
  if (isTier(size) && tiers.includes(size)) return { tier: size, ratio }
  const said = `\`size\` must be one of ${[...tiers, 'auto'].join(', ')} or <width>x<height> with ${name}`
  const pixels = parsePixels(size)
  if (pixels === undefined) return refuse('size', said)
  const tier = tierOfPixels(pixels, tiers)
  const found = ratio ?? ratioOfPixels(pixels, aspectRatios)
  if (tier === undefined) return refuse('size', `${said}; ${size} is near none of them`)
  return found === undefined
    ? refuse(
        'size',
        `\`size\` ${size} is near none of the aspect ratios ${aspectRatios.join(', ')}`,
      )
    : { tier, ratio: found }
}

/** What other families know is taken where it asks for nothing; a wish that would go unheard is refused. */
function refuseOthers({ kind, form, fields }: ImageOrder, { name }: GenModel): void {
  const known = kind === 'edit' ? [...READ, ...READ_OF_EDITS[form]] : READ
  for (const [member, value] of Object.entries(fields)) {
    if (known.includes(member) || asksForNothing(member, value)) continue
    const isOfEdits = kind !== 'edit' && Object.values(READ_OF_EDITS).flat().includes(member)
    refuse(
      member,
      isOfEdits
        ? `\`${member}\` is taken by /v1/images/edits alone with this model`
        : `\`${member}\` is not taken by ${name}, which takes ${['model', ...known].join(', ')}`,
    )
  }
}
