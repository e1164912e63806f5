import { refuse } from '../../../domain/families/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { given, objectAt, stringAt, without } from '../../../api/kit/member-checks.ts'
import { refuseFileId } from '../../../api/kit/tools-and-files.ts'

function textPart(part: JsonObject, type: string, at: string): JsonObject {
  if (typeof given(part, 'text') !== 'string')
    return refuse(`${at}.text`, `\`${at}.text\` must be a string`)
  return { ...part, type }
}

/** `{image_url}` or `{url}`, as a string or as chat's `{url, detail}`. */
function imagePart(part: JsonObject, at: string): JsonObject {
  const rest = without(part, ['image_url', 'url'])
  const source = given(part, 'image_url') ?? given(part, 'url')
  if (source === undefined) return refuse(`${at}.image_url`, `\`${at}.image_url\` is required`)
  if (typeof source === 'string') return { ...rest, type: 'input_image', image_url: source }
  const chat = objectAt(source, `${at}.image_url`)
  const url = stringAt(chat, 'url', `${at}.image_url.url`)
  return { ...without(chat, ['url']), ...rest, type: 'input_image', image_url: url }
}

/** A file by `file_url` or `file_data`, flat or within `file`. */
function filePart(part: JsonObject, at: string): JsonObject {
  const nested = given(part, 'file')
  const flat = isJsonObject(nested) ? { ...without(part, ['file']), ...nested } : part
  const url = given(flat, 'url')
  const named = url === undefined ? flat : { ...without(flat, ['url']), file_url: url }
  const references = ['file_url', 'file_data']
  if (!references.some((name) => typeof given(named, name) === 'string'))
    return refuse(at, `\`${at}\` must name a file by file_url or file_data`)
  return { ...named, type: 'input_file' }
}

/**
 * A content part as upstream names it by the role of its message; part types that are
 * upstream's own, or unknown, are left alone. @throws DomainError `invalid_request`
 */
export function upstreamPart(value: unknown, ofAssistant: boolean, at: string): JsonObject {
  const part = objectAt(value, at)
  refuseFileId(part, at)
  switch (stringAt(part, 'type', `${at}.type`)) {
    case 'text':
      return textPart(part, ofAssistant ? 'output_text' : 'input_text', at)
    case 'image_url':
    case 'image':
      return imagePart(part, at)
    case 'file':
    case 'file_url':
    case 'file_id':
      return filePart(part, at)
    default:
      return part
  }
}
