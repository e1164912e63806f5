import { Buffer } from 'node:buffer'
import { textFault } from '../../../kernel/storable-text.ts'
import { IMAGE_MARK_BYTES, imageMediaType } from './image-bytes.ts'
import { isWebUrl, MAX_URL_LENGTH } from './web-url.ts'

const HEAD = /^data:(image\/[a-z0-9.+-]{1,64});base64$/i
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Characters of base64 that hold the marks of a picture. */
const MARK_CHARACTERS = Math.ceil(IMAGE_MARK_BYTES / 3) * 4

/** Whether a URL is meant to be a data URI, well-formed or not. */
export function isDataUri(url: string): boolean {
  return /^data:/i.test(url)
}

/**
 * What is wrong with a picture as a complete data URI: `data:image/<type>;base64,<payload>` without a blank, its type
 * that of the bytes. Undefined when nothing is.
 */
export function imageDataUriFault(uri: string): string | undefined {
  const comma = uri.indexOf(',')
  const named = HEAD.exec(uri.slice(0, Math.max(comma, 0)))?.[1]?.toLowerCase()
  if (named === undefined || !BASE64.test(uri.slice(comma + 1)))
    return 'must be a data URI like data:image/png;base64,<payload>, with no blank or line break'
  const start = Buffer.from(uri.slice(comma + 1, comma + 1 + MARK_CHARACTERS), 'base64')
  const real = imageMediaType(start)
  if (real === undefined) return 'must be a PNG, JPEG or WebP picture'
  return named.replace('image/jpg', 'image/jpeg') === real
    ? undefined
    : `says that it is ${named} and is ${real}`
}

/** The same of a picture that may also be at a web URL. */
export function imageUrlFault(url: string): string | undefined {
  if (isDataUri(url)) return imageDataUriFault(url)
  const fault = textFault(url, MAX_URL_LENGTH)
  if (fault !== undefined || isWebUrl(url)) return fault
  return 'must be a public https:// or http:// URL or a data:image/… URI'
}
