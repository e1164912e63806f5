import { nativeRules } from '../rules/wire.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import {
  memberOrUndefined,
  MAX_MODEL_CHARACTERS,
  objectAt,
  optionalList,
  omitMembers,
} from '../../../api/kit/bodies/member-checks.ts'
import { refuseUnmetered } from '../../text/surface/bodies.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import { readBody } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import {
  ConversationSchema,
  flatNames,
  generationConfig,
  type ReadPart,
  camelMembers,
} from './bodies.ts'

/** The one model that reads files by URL. */
const FILE_URL_MODEL = 'gen-3-pro-preview-file'
/** Most files one request may name by URL: each host is resolved. */
const MAX_FILE_URLS = 10

/** A file the caller named by URL, to be checked before it is passed on. */
interface FileReference {
  readonly path: string
  readonly uri: string
}

/** A native request as the use case takes it, its file URLs still to be checked. */
export interface NativeRequest {
  readonly model: string
  readonly body: JsonObject
  readonly inputSize: InputSize
  readonly files: readonly FileReference[]
}

/** Every item of a list with its path; the schema refuses a value that is no list. */
function eachOf(
  list: unknown,
  at: string,
  rewrite: (value: unknown, at: string) => unknown,
): unknown {
  if (!Array.isArray(list)) return list
  return list.map((one: unknown, index) => rewrite(one, `${at}[${index}]`))
}

/** Members of a part whose members may also have either spelling, and their names in refusals. */
const holders = [
  ['inlineData', 'inline_data'],
  ['fileData', 'file_data'],
  ['videoMetadata', 'video_metadata'],
  ['functionResponse', 'function_response'],
] as const

function camelPart(value: unknown, at: string): unknown {
  if (!isJsonObject(value)) return value
  let part = camelMembers(value, at)
  for (const [name, shown] of holders) {
    const holder = part[name]
    if (!isJsonObject(holder)) continue
    const path = `${at}.${shown}`
    const inCamel = camelMembers(holder, path)
    part = { ...part, [name]: inCamel }
    // A function's answer may hold media in its own parts.
    if (name === 'functionResponse' && Array.isArray(inCamel['parts']))
      part = { ...part, [name]: withParts(inCamel, path) }
  }
  return part
}

const withParts = (holder: JsonObject, at: string): JsonObject => ({
  ...holder,
  parts: eachOf(holder['parts'], `${at}.parts`, camelPart),
})

function camelContent(value: unknown, at: string): unknown {
  return isJsonObject(value) && Array.isArray(value['parts']) ? withParts(value, at) : value
}

const describedParts = (parts: unknown): unknown =>
  Array.isArray(parts) ? parts.map(describedPart) : parts

/** A part in camel case, with the names of its schema, which refusals use. */
function describedPart(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  const { text, inlineData, fileData, videoMetadata, functionResponse: response } = value
  return {
    text,
    inline_data: describedMedia(inlineData),
    file_data: describedMedia(fileData),
    video_metadata: videoMetadata,
    function_response: isJsonObject(response)
      ? { parts: describedParts(response['parts']) }
      : response,
  }
}

function describedMedia(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return { mime_type: value['mimeType'], data: value['data'], file_uri: value['fileUri'] }
}

function describedContent(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return { role: value['role'], parts: describedParts(value['parts']) }
}

/**
 * The files that parts name by URL. @throws DomainError `invalid_request` if the model reads none
 */
function filesOf(parts: readonly ReadPart[], at: string, model: string): readonly FileReference[] {
  return parts.flatMap(({ file_data: file, function_response: response }, index) => {
    const path = `${at}[${index}].file_data`
    if (file !== undefined && model !== FILE_URL_MODEL)
      refuse(path, `\`${path}\` is only accepted by the model ${FILE_URL_MODEL}`)
    const own = file === undefined ? [] : [{ path: `${path}.file_uri`, uri: file.file_uri }]
    const further = `${at}[${index}].function_response.parts`
    return [...own, ...filesOf(response?.parts ?? [], further, model)]
  })
}

/** Official clients give the instruction a role of any name, and upstream ignores it. */
function withoutRole(instruction: unknown): unknown {
  return isJsonObject(instruction) ? omitMembers(instruction, ['role']) : instruction
}

/** The turns and the instruction in camel case, and the files they name. @throws DomainError `invalid_request` */
function conversationOf(body: JsonObject, model: string) {
  const contents = eachOf(body['contents'], 'contents', camelContent)
  const systemInstruction = withoutRole(
    camelContent(body['systemInstruction'], 'systemInstruction'),
  )
  const read = readBody(ConversationSchema, {
    contents: Array.isArray(contents) ? contents.map(describedContent) : contents,
    systemInstruction: describedContent(systemInstruction),
  })
  const files = [
    ...read.contents.flatMap(({ parts }, index) =>
      filesOf(parts, `contents[${index}].parts`, model),
    ),
    ...filesOf(read.systemInstruction?.parts ?? [], 'systemInstruction.parts', model),
  ]
  if (files.length > MAX_FILE_URLS)
    refuse('contents', `At most ${MAX_FILE_URLS} files may be given by URL`)
  const instruction = read.systemInstruction === undefined ? {} : { systemInstruction }
  return { contents, instruction, files }
}

function nativeTools(body: JsonObject): readonly JsonObject[] | undefined {
  return optionalList(body, 'tools')?.map((value, index) => {
    const at = `tools[${index}]`
    const tool = camelMembers(objectAt(value, at), at)
    refuseUnmetered(nativeRules, tool, at)
    return tool
  })
}

/** Resolution of media, where the whole request sets it. */
function levelOf(config: JsonObject | undefined): JsonObject {
  const level = memberOrUndefined(config ?? {}, 'mediaResolution')
  return level === undefined ? {} : { mediaResolution: { level } }
}

/**
 * Reads a native body and writes it in camel case with the flat members folded into
 * `generationConfig`; members not named there are passed on unchanged.
 * @throws DomainError `invalid_request`, naming the field
 */
export function readNativeRequest(model: string, sent: JsonObject): NativeRequest {
  // The name is too long for any model.
  if (model === '' || model.length > MAX_MODEL_CHARACTERS)
    refuse('model', 'The model in the path is not valid')
  const body = camelMembers(sent, '')
  const { contents, instruction, files } = conversationOf(body, model)
  const config = generationConfig(body)
  const tools = nativeTools(body)
  return {
    model,
    files,
    body: {
      // The path has both: an account that read them from the body might answer with another model
      // than the billed one.
      ...omitMembers(body, ['model', 'stream', 'generationConfig', ...flatNames]),
      contents,
      ...instruction,
      ...(tools ? { tools } : {}),
      ...(config ? { generationConfig: config } : {}),
    },
    inputSize: measureInput(
      [{ contents, ...instruction, ...levelOf(config) }],
      [tools, config === undefined ? undefined : config['responseSchema']],
      {
        ...omitMembers(body, [
          'model',
          'contents',
          'systemInstruction',
          'tools',
          'generationConfig',
        ]),
        ...omitMembers(config ?? {}, ['responseSchema', 'stopSequences', 'mediaResolution']),
      },
    ),
  }
}
