import type { InputSize } from '../../../domain/families/text/estimate.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { measureInput } from '../../../api/kit/input-size.ts'
import {
  given,
  MAX_MODEL_CHARACTERS,
  objectAt,
  optionalList,
  optionalObject,
  without,
} from '../../../api/kit/member-checks.ts'
import { refuseUnmetered } from '../../../api/kit/tools-and-files.ts'
import { flatNames, generationConfig } from './generation-config.ts'
import { nativePart, type FileReference } from './parts.ts'
import { camelMembers } from './spelling.ts'

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
    refuseUnmetered('native', tool, at)
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
  if (given(body, 'cachedContent') !== undefined)
    refuse(
      'cachedContent',
      '`cachedContent` is not offered: send the content itself, what repeats is cached by itself',
    )
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
