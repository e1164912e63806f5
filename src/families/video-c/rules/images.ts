import { acceptImageDataUri, isDataUri } from '../../../domain/families/checks/data-uri.ts'
import { text } from '../../../domain/families/checks/fields.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type { VideoCMode } from './models.ts'
import { lacking, refuseField } from './refusals.ts'

/** The pictures of a `/provC` creation: as many as its mode is made after. */

const COUNTS: Readonly<Record<VideoCMode, { readonly min: number; readonly max: number }>> = {
  text2video: { min: 0, max: 0 },
  img2video: { min: 1, max: 1 },
  'start-end2video': { min: 2, max: 2 },
  reference2video: { min: 1, max: 7 },
}

/** @throws RequestError */
export function acceptImages(mode: VideoCMode, value: unknown): readonly string[] {
  const { min, max } = COUNTS[mode]
  if (value === undefined) return min === 0 ? [] : lacking('images')
  if (!Array.isArray(value)) return refuseField('images', '`images` must be an array of URLs')
  if (value.length < min || value.length > max)
    return refuseField(
      'images',
      `\`images\` must have ${inWords(min, max)} for ${mode}`,
      'invalid_request',
      max === 0 ? 'FieldUnwanted' : 'FieldItemCountOutOfRange',
    )
  return value.map((image: unknown, index) => acceptImage(image, `images[${index}]`))
}

function inWords(min: number, max: number): string {
  if (max === 0) return 'no pictures'
  return min === max ? `exactly ${max}` : `${min} to ${max}`
}

/** Upstream fetches it, we never do. */
function acceptImage(value: unknown, param: string): string {
  if (typeof value === 'string' && isDataUri(value)) {
    acceptImageDataUri(value, param)
    return value
  }
  const url = text(value, param, MAX_URL_LENGTH)
  if (isWebUrl(url)) return url
  return refuseField(
    param,
    `\`${param}\` must be a public https:// or http:// URL or a data:image/… URI`,
  )
}
