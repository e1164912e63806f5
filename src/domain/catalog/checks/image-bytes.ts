import type { ImageMediaType } from '../image-rules.ts'
import { refuse } from './fields.ts'

/** What pictures are by their first bytes; what a caller or a provider calls them does not count. */

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
const RIFF = [0x52, 0x49, 0x46, 0x46]
const WEBP = [0x57, 0x45, 0x42, 0x50]
/** Of bytes that hold every mark. */
export const IMAGE_MARK_BYTES = 12

const holds = (bytes: Uint8Array, mark: readonly number[], at = 0): boolean =>
  mark.every((byte, index) => bytes[at + index] === byte)

/** The media type of a picture; undefined when it is none that is taken. */
export function imageMediaType(bytes: Uint8Array): ImageMediaType | undefined {
  if (holds(bytes, PNG)) return 'image/png'
  if (holds(bytes, JPEG)) return 'image/jpeg'
  return holds(bytes, RIFF) && holds(bytes, WEBP, 8) ? 'image/webp' : undefined
}

/** @throws RequestError naming the part */
export function acceptImageBytes(bytes: Uint8Array, param: string): ImageMediaType {
  return imageMediaType(bytes) ?? refuse(param, `\`${param}\` must be a PNG, JPEG or WebP picture`)
}
