import { Buffer } from 'node:buffer'
import { type Static, Type } from 'typebox'
import { isBase64 } from '../../../kernel/base64.ts'
import { textFault } from '../../../kernel/storable-text.ts'
import type { ImageInput, ImageOrder, ImageUpload, ImageMediaType } from '../image-rules.ts'
import { refuse } from './fields.ts'
import { isWebUrl, MAX_URL_LENGTH } from './media.ts'

/**
 * Recognises pictures by their first bytes; the type that a caller or provider names does not
 * count.
 */

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
const RIFF = [0x52, 0x49, 0x46, 0x46]
const WEBP = [0x57, 0x45, 0x42, 0x50]
/** The longest signature of a picture format has at most this many bytes. */
const IMAGE_MARK_BYTES = 12

const holds = (bytes: Uint8Array, mark: readonly number[], at = 0): boolean =>
  mark.every((byte, index) => bytes[at + index] === byte)

/** The media type of a picture; undefined for a type that the gateway does not accept. */
export function imageMediaType(bytes: Uint8Array): ImageMediaType | undefined {
  if (holds(bytes, PNG)) return 'image/png'
  if (holds(bytes, JPEG)) return 'image/jpeg'
  return holds(bytes, RIFF) && holds(bytes, WEBP, 8) ? 'image/webp' : undefined
}

/** @throws RequestError naming the part */
export function acceptImageBytes(bytes: Uint8Array, param: string): ImageMediaType {
  return imageMediaType(bytes) ?? refuse(param, `\`${param}\` must be a PNG, JPEG or WebP picture`)
}

/** Pictures in the body of a request, and pictures of an edit. */

const HEAD = /^data:(image\/[a-z0-9.+-]{1,64});base64$/i
/** Characters of base64 that hold the marks of a picture. */
const MARK_CHARACTERS = Math.ceil(IMAGE_MARK_BYTES / 3) * 4

/** Whether a URL is meant to be a data URI, well-formed or not. */
export function isDataUri(url: string): boolean {
  return /^data:/i.test(url)
}

/**
 * Describes the fault of a picture in a complete data URI, `data:image/<type>;base64,<payload>`
 * without a blank, whose type must match its bytes. Undefined if nothing is wrong.
 */
export function imageDataUriFault(uri: string): string | undefined {
  const comma = uri.indexOf(',')
  const named = HEAD.exec(uri.slice(0, Math.max(comma, 0)))?.[1]?.toLowerCase()
  if (named === undefined || !isBase64(uri.slice(comma + 1)))
    return 'must be a data URI like data:image/png;base64,<payload>, with no blank or line break'
  const start = Buffer.from(uri.slice(comma + 1, comma + 1 + MARK_CHARACTERS), 'base64')
  const real = imageMediaType(start)
  if (real === undefined) return 'must be a PNG, JPEG or WebP picture'
  return named.replace('image/jpg', 'image/jpeg') === real
    ? undefined
    : `declares ${named} and is ${real}`
}

/** The fault of a picture's URL that may be a data URL or one of the web; undefined if it has none. */
export function imageUrlFault(url: string): string | undefined {
  if (isDataUri(url)) return imageDataUriFault(url)
  const fault = textFault(url, MAX_URL_LENGTH)
  if (fault !== undefined || isWebUrl(url)) return fault
  return 'must be a public https:// or http:// URL or a data:image/… URI'
}

/** The pictures of an edit: references in its body, or files of its form. */

/** Most pictures of an edit: the base picture counts, the mask does not. */
export const MAX_PICTURES = 14

const EITHER = '`image_url` or `file_id`'

const Reference = Type.Object(
  {
    image_url: Type.Optional(
      Type.String({ check: imageUrlFault, description: 'A public URL or a data URI.' }),
    ),
    file_id: Type.Optional(Type.String({ maxLength: 128, description: 'An id of `/v1/files`.' })),
  },
  {
    named: 'PictureReference',
    additionalProperties: true,
    words: { type: `must be an object with ${EITHER}` },
    check: (one: object) =>
      'image_url' in one === 'file_id' in one ? `must have either ${EITHER}` : undefined,
  },
)

/** Members of the JSON of an edit. */
export const PicturesSchema = Type.Object(
  {
    images: Type.Optional(Type.Array(Reference, { maxItems: MAX_PICTURES })),
    mask: Type.Optional(Reference),
  },
  { named: 'Pictures' },
)

/** Parts of a form that are files. */
const FILES = ['image', 'image[]', 'mask']

interface EditPictures {
  /** The base picture first: as they were sent. */
  readonly pictures: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

/** Refuses texts of a form where files are required. @throws DomainError naming the part */
export function refuseTexts({ form, fields }: ImageOrder, elsewhere: string): void {
  if (form === 'json') return
  const text = ['images', ...FILES].find((name) => Object.hasOwn(fields, name))
  if (text !== undefined) refuse(text, `\`${text}\` must be a file: ${elsewhere}`)
}

/** @throws DomainError naming the part; what `uploaded` throws */
export function editPictures(
  { form, uploads }: Pick<ImageOrder, 'form' | 'uploads'>,
  { images = [], mask }: Static<typeof PicturesSchema>,
  uploaded: (upload: ImageUpload) => ImageInput,
): EditPictures {
  if (form === 'json')
    return {
      pictures: images.map((image, index) => referred(image, `images[${index}]`)),
      mask: mask && referred(mask, 'mask'),
    }
  const other = uploads.find(({ name }) => !FILES.includes(name))?.name
  if (other !== undefined)
    return refuse(
      other,
      `\`${other}\` does not accept a file: send it in \`image\`, \`image[]\` or \`mask\``,
    )
  const [drawn, second] = uploads.filter(({ name }) => name === 'mask')
  if (second !== undefined) return refuse('mask', '`mask` must be one picture')
  return {
    pictures: uploads.filter(({ name }) => name !== 'mask').map(uploaded),
    mask: drawn && uploaded(drawn),
  }
}

function referred({ image_url: url, file_id }: Static<typeof Reference>, at: string): ImageInput {
  return url === undefined
    ? { from: 'file', fileId: file_id ?? '', param: `${at}.file_id` }
    : { from: 'url', url, param: `${at}.image_url` }
}
