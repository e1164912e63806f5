import { Buffer } from 'node:buffer'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { isDataUri } from '../../../domain/families/checks/data-uri.ts'
import { own, refuse, text } from '../../../domain/families/checks/fields.ts'
import { acceptImageBytes } from '../../../domain/families/checks/image-bytes.ts'
import { acceptImageReference } from '../../../domain/families/checks/image-reference.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type { ImageInput, ImageOrder, ImageUpload } from '../../../domain/families/image-rules.ts'

/** Pictures of an edit, the base picture among them and the mask besides. */
export const MAX_INPUTS = 14
/** A picture is smaller, wherever it comes from. */
export const INPUT_UNDER_BYTES = 10 * 1024 * 1024

export interface EditInputs {
  /** The base picture first: files before URLs, each in the order they were sent. */
  readonly inputs: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

/**
 * The pictures of an edit, files and URLs mixed as the caller likes.
 * @throws RequestError naming the member or part, DomainError `image_too_large`
 */
export function acceptEditInputs(order: ImageOrder): EditInputs {
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
