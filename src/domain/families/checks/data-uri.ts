import { Buffer } from 'node:buffer'
import { refuse } from './fields.ts'
import { IMAGE_MARK_BYTES, imageMediaType } from './image-bytes.ts'

const HEAD = /^data:(image\/[a-z0-9.+-]{1,64});base64$/i
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Characters of base64 that hold the marks of a picture. */
const MARK_CHARACTERS = Math.ceil(IMAGE_MARK_BYTES / 3) * 4

/** Whether a URL is meant to be a data URI, well-formed or not. */
export function isDataUri(url: string): boolean {
  return /^data:/i.test(url)
}

/**
 * A picture as a complete data URI: `data:image/<type>;base64,<payload>` without a blank, its type
 * that of the bytes.
 *
 * @throws RequestError
 */
export function acceptImageDataUri(uri: string, param: string): void {
  const comma = uri.indexOf(',')
  const named = HEAD.exec(uri.slice(0, Math.max(comma, 0)))?.[1]?.toLowerCase()
  if (named === undefined || !BASE64.test(uri.slice(comma + 1)))
    return refuse(
      param,
      `\`${param}\` must be a data URI like data:image/png;base64,<payload>, with no blank or line break`,
    )
  const start = Buffer.from(uri.slice(comma + 1, comma + 1 + MARK_CHARACTERS), 'base64')
  const real = imageMediaType(start)
  if (real === undefined) return refuse(param, `\`${param}\` must be a PNG, JPEG or WebP picture`)
  if (named.replace('image/jpg', 'image/jpeg') !== real)
    return refuse(param, `\`${param}\` says that it is ${named} and is ${real}`)
}
