import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  given,
  objectAt,
  optionalList,
  optionalObject,
  stringAt,
} from '../../../api/kit/member-checks.ts'
import { camelMembers } from './spelling.ts'

/** The one model that reads files by URL. */
const FILE_URL_MODEL = 'gen-3-pro-preview-file'

/** A file the caller named by URL, to be checked before it is passed on. */
export interface FileReference {
  readonly path: string
  readonly uri: string
}

const mediaType = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,127}(?:\s*;.{0,128})?$/i
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

function mimeType(holder: JsonObject, at: string): void {
  const path = `${at}.mime_type`
  if (!mediaType.test(stringAt(holder, 'mimeType', path)))
    refuse(path, `\`${path}\` must be a media type such as image/png`)
}

function inlineData(value: JsonObject, at: string): JsonObject {
  const inline = camelMembers(value, at)
  mimeType(inline, at)
  const data = stringAt(inline, 'data', `${at}.data`)
  if (!base64.test(data)) refuse(`${at}.data`, `\`${at}.data\` must be Base64 without a prefix`)
  return inline
}

function fileData(
  value: JsonObject,
  at: string,
  model: string,
  files: FileReference[],
): JsonObject {
  const file = camelMembers(value, at)
  if (model !== FILE_URL_MODEL)
    refuse(at, `\`${at}\` is only accepted by the model ${FILE_URL_MODEL}`)
  if (given(file, 'mimeType') !== undefined) mimeType(file, at)
  const path = `${at}.file_uri`
  files.push({ path, uri: stringAt(file, 'fileUri', path) })
  return file
}

/**
 * A part with camel-case names, its media checked; any other kind of part is passed on.
 * @throws DomainError `invalid_request`
 */
export function nativePart(
  value: unknown,
  at: string,
  model: string,
  files: FileReference[],
): JsonObject {
  const part = camelMembers(objectAt(value, at), at)
  const text = given(part, 'text')
  if (text !== undefined && typeof text !== 'string')
    refuse(`${at}.text`, `\`${at}.text\` must be a string`)
  const inline = optionalObject(part, 'inlineData', `${at}.inline_data`)
  const file = optionalObject(part, 'fileData', `${at}.file_data`)
  const video = optionalObject(part, 'videoMetadata', `${at}.video_metadata`)
  const response = optionalObject(part, 'functionResponse', `${at}.function_response`)
  return {
    ...part,
    ...(inline ? { inlineData: inlineData(inline, `${at}.inline_data`) } : {}),
    ...(file ? { fileData: fileData(file, `${at}.file_data`, model, files) } : {}),
    ...(video ? { videoMetadata: camelMembers(video, `${at}.video_metadata`) } : {}),
    ...(response
      ? { functionResponse: functionResponse(response, `${at}.function_response`, model, files) }
      : {}),
  }
}

/** What a function answered may hold media in parts of its own. */
function functionResponse(
  value: JsonObject,
  at: string,
  model: string,
  files: FileReference[],
): JsonObject {
  const response = camelMembers(value, at)
  const parts = optionalList(response, 'parts', `${at}.parts`)
  if (parts === undefined) return response
  return {
    ...response,
    parts: parts.map((part, index) => nativePart(part, `${at}.parts[${index}]`, model, files)),
  }
}
