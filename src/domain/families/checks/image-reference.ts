import { isJsonObject } from '../../../kernel/json.ts'
import type { ImageInput } from '../image-rules.ts'
import { imageUrlFault } from './data-uri.ts'
import { own, refuse, text } from './fields.ts'

const MAX_FILE_ID_LENGTH = 128

/** A picture as JSON names it: `{image_url}` or `{file_id}`, never both. @throws RequestError */
export function acceptImageReference(value: unknown, at: string): ImageInput {
  if (!isJsonObject(value))
    return refuse(at, `\`${at}\` must be an object with \`image_url\` or \`file_id\``)
  const url = own(value, 'image_url')
  const fileId = own(value, 'file_id')
  if ((url === undefined) === (fileId === undefined))
    return refuse(at, `\`${at}\` must have either \`image_url\` or \`file_id\``)
  if (url === undefined) {
    const param = `${at}.file_id`
    return { from: 'file', fileId: text(fileId, param, MAX_FILE_ID_LENGTH), param }
  }
  const param = `${at}.image_url`
  return { from: 'url', url: acceptImageUrl(url, param), param }
}

/** A web URL or a data URI. @throws RequestError */
function acceptImageUrl(value: unknown, param: string): string {
  if (typeof value !== 'string') return refuse(param, `\`${param}\` must be a string`)
  const fault = imageUrlFault(value)
  return fault === undefined ? value : refuse(param, `\`${param}\` ${fault}`)
}
