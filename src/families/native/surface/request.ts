import { nativeRules } from '../rules/wire.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import {
  given,
  MAX_MODEL_CHARACTERS,
  objectAt,
  optionalList,
  optionalObject,
  stringAt,
  without,
} from '../../../api/kit/member-checks.ts'
import { refuseUnmetered } from '../../text/surface/bodies.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { flatNames, generationConfig } from './bodies.ts'
import { camelMembers } from './names.ts'

/** The one model that reads files by URL. */
const FILE_URL_MODEL = 'gen-3-pro-preview-file'

/** A file the caller named by URL, to be checked before it is passed on. */
interface FileReference {
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
function nativePart(value: unknown, at: string, model: string, files: FileReference[]): JsonObject {
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

/** A native request as the use case takes it, its file URLs still to be checked. */
export interface NativeRequest {
  readonly model: string
  readonly body: JsonObject
  readonly inputSize: InputSize
  readonly files: readonly FileReference[]
}

/** Most files one request may name by URL: each host is resolved. */
const MAX_FILE_URLS = 10

const roles: readonly unknown[] = ['user', 'model', 'function', 'tool']

function nativeContent(
  value: unknown,
  at: string,
  model: string,
  files: FileReference[],
): JsonObject {
  const content = objectAt(value, at)
  const role = given(content, 'role')
  if (role !== undefined && !roles.includes(role))
    refuse(`${at}.role`, `\`${at}.role\` must be one of ${roles.join(', ')}, or absent`)
  const parts = optionalList(content, 'parts', `${at}.parts`)
  if (parts === undefined || parts.length === 0)
    return refuse(`${at}.parts`, `\`${at}.parts\` is required`)
  return {
    ...content,
    parts: parts.map((part, index) => nativePart(part, `${at}.parts[${index}]`, model, files)),
  }
}

function nativeContents(
  body: JsonObject,
  model: string,
  files: FileReference[],
): readonly JsonObject[] {
  const contents = given(body, 'contents')
  if (contents === undefined) return refuse('contents', '`contents` is required')
  if (!Array.isArray(contents) || contents.length === 0)
    return refuse('contents', '`contents` must be an array that is not empty')
  const turns = contents as readonly unknown[]
  return turns.map((turn, index) => nativeContent(turn, `contents[${index}]`, model, files))
}

function systemInstruction(body: JsonObject, model: string, files: FileReference[]): JsonObject {
  const value = optionalObject(body, 'systemInstruction')
  if (value === undefined) return {}
  return { systemInstruction: nativeContent(value, 'systemInstruction', model, files) }
}

function nativeTools(body: JsonObject): readonly JsonObject[] | undefined {
  return optionalList(body, 'tools')?.map((value, index) => {
    const at = `tools[${index}]`
    const tool = camelMembers(objectAt(value, at), at)
    refuseUnmetered(nativeRules, tool, at)
    return tool
  })
}

/** How closely media are looked at, where the whole request says so. */
function levelOf(config: JsonObject | undefined): JsonObject {
  const level = given(config ?? {}, 'mediaResolution')
  return level === undefined ? {} : { mediaResolution: { level } }
}

/**
 * Reads a native body and writes it in camel case with the flat members folded into
 * `generationConfig`; everything not named there is passed on as it came.
 * @throws DomainError `invalid_request`, naming the field
 */
export function readNativeRequest(model: string, sent: JsonObject): NativeRequest {
  // Such a name is of no model, and too long to look for.
  if (model === '' || model.length > MAX_MODEL_CHARACTERS)
    refuse('model', 'The model in the path is not valid')
  const body = camelMembers(sent, '')
  const files: FileReference[] = []
  const contents = nativeContents(body, model, files)
  const instruction = systemInstruction(body, model, files)
  if (files.length > MAX_FILE_URLS)
    refuse('contents', `At most ${MAX_FILE_URLS} files may be given by URL`)
  const config = generationConfig(body)
  const tools = nativeTools(body)
  return {
    model,
    files,
    body: {
      // The path says both: an account that read them here would answer another way than is billed.
      ...without(body, ['model', 'stream', 'generationConfig', ...flatNames]),
      contents,
      ...instruction,
      ...(tools ? { tools } : {}),
      ...(config ? { generationConfig: config } : {}),
    },
    inputSize: measureInput(
      [{ contents, ...instruction, ...levelOf(config) }],
      [tools, config === undefined ? undefined : config['responseSchema']],
      {
        ...without(body, ['model', 'contents', 'systemInstruction', 'tools', 'generationConfig']),
        ...without(config ?? {}, ['responseSchema', 'stopSequences', 'mediaResolution']),
      },
    ),
  }
}
