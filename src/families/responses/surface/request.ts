import { responsesRules } from '../rules/wire.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import {
  checkNumber,
  flag,
  given,
  modelName,
  objectAt,
  optionalList,
  optionalObject,
  stringAt,
  without,
} from '../../../api/kit/member-checks.ts'
import { refuseFileId, refuseUnmetered } from '../../text/surface/tools-and-files.ts'
import { responseFormat } from '../../text/surface/v1-bodies.ts'
import { own, refuse } from '../../../domain/families/checks/fields.ts'
import type { InputSize } from '../../text/rules/estimate.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'

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
function upstreamPart(value: unknown, ofAssistant: boolean, at: string): JsonObject {
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

/**
 * What a responses request may say by id alone. Upstream keeps everything in an account that all
 * tenants share, so an id of it is only taken where it can be told to be the caller's (P8).
 */

/** Checks what a request continues from. @throws DomainError `invalid_request` */
function checkContinuation(body: JsonObject): void {
  const previous = given(body, 'previous_response_id')
  if (previous !== undefined && typeof previous !== 'string')
    refuse('previous_response_id', '`previous_response_id` must be a string')
  if (given(body, 'conversation') !== undefined)
    refuse(
      'conversation',
      '`conversation` is not offered: continue with `previous_response_id`, or send the turns in `input`',
    )
  if (given(body, 'prompt') !== undefined)
    refuse('prompt', '`prompt` is not offered: write its text into `instructions` or `input`')
}

/** Whether an item of `input` only names one that is kept; whose it is is told later, by its id. */
function isReference(item: JsonObject): boolean {
  const type = given(item, 'type')
  const isBare = type === undefined && given(item, 'role') === undefined
  return type === 'item_reference' || (isBare && given(item, 'id') !== undefined)
}

/** Refuses what an item of `input` refers to and cannot be a caller's. @throws DomainError `invalid_request` */
function refuseReferences(item: JsonObject, at: string): void {
  const type = given(item, 'type')
  if (type === 'image_generation_call' && typeof given(item, 'result') !== 'string')
    refuse(`${at}.result`, `\`${at}.result\` is required: images are not kept here`)
  const output = given(item, 'output')
  if (isJsonObject(output)) refuseFileId(output, `${at}.output`)
  if (!Array.isArray(output)) return
  for (const [index, part] of (output as readonly unknown[]).entries())
    if (isJsonObject(part)) refuseFileId(part, `${at}.output[${index}]`)
}

/** Checks what a tool works on. @throws DomainError `invalid_request` */
function checkToolReferences(tool: JsonObject, at: string): void {
  const stores = optionalList(tool, 'vector_store_ids', `${at}.vector_store_ids`)
  if (stores?.some((id) => typeof id !== 'string') === true)
    refuse(`${at}.vector_store_ids`, `\`${at}.vector_store_ids\` must be an array of strings`)
  const container = given(tool, 'container')
  if (typeof container === 'string')
    refuse(`${at}.container`, `\`${at}.container\` must be {"type": "auto"}: none are kept here`)
  if (!isJsonObject(container)) return
  const files = optionalList(container, 'file_ids', `${at}.container.file_ids`)
  if (files !== undefined && files.length > 0)
    refuse(
      `${at}.container.file_ids`,
      `\`${at}.container.file_ids\` is not offered: no files are kept here`,
    )
}

/** A responses request as the use case takes it. */
interface ResponsesRequest {
  readonly model: string
  readonly stream: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

const roles: readonly unknown[] = ['user', 'assistant', 'system', 'developer']

/** One item of `input`: a message has its parts rewritten, any other item is upstream's own. */
function upstreamItem(value: unknown, at: string): JsonObject {
  const item = objectAt(value, at)
  const type = given(item, 'type')
  const role = given(item, 'role')
  if (type !== undefined && typeof type !== 'string')
    return refuse(`${at}.type`, `\`${at}.type\` must be a string`)
  if (isReference(item)) return { type: 'item_reference', id: stringAt(item, 'id', `${at}.id`) }
  refuseReferences(item, at)
  if (type !== undefined && type !== 'message') return item
  if (!roles.includes(role))
    return refuse(`${at}.role`, `\`${at}.role\` must be one of ${roles.join(', ')}`)
  const content = given(item, 'content')
  if (typeof content === 'string') return item
  if (!Array.isArray(content))
    return refuse(`${at}.content`, `\`${at}.content\` must be a string or an array of parts`)
  const parts = content as readonly unknown[]
  return {
    ...item,
    content: parts.map((part, index) =>
      upstreamPart(part, role === 'assistant', `${at}.content[${index}]`),
    ),
  }
}

function upstreamInput(body: JsonObject): string | readonly JsonObject[] {
  const input = given(body, 'input')
  if (input === undefined) return refuse('input', '`input` is required')
  if (typeof input === 'string') return input
  if (!Array.isArray(input)) return refuse('input', '`input` must be a string or an array of items')
  const items = input as readonly unknown[]
  return items.map((item, index) => upstreamItem(item, `input[${index}]`))
}

/** A function written the way chat writes it, flattened; any other tool as it is. */
function upstreamTool(value: unknown, at: string): JsonObject {
  const tool = objectAt(value, at)
  const nested = given(tool, 'function')
  const type = stringAt(tool, 'type', `${at}.type`)
  refuseUnmetered(responsesRules, tool, at)
  checkToolReferences(tool, at)
  if (type !== 'function') return tool
  if (nested === undefined) {
    stringAt(tool, 'name', `${at}.name`)
    return tool
  }
  const described = objectAt(nested, `${at}.function`)
  stringAt(described, 'name', `${at}.function.name`)
  return { ...without(tool, ['function']), ...described }
}

function upstreamTools(body: JsonObject): JsonObject {
  const tools = optionalList(body, 'tools')
  const choice = given(body, 'tool_choice')
  if (choice !== undefined && typeof choice !== 'string' && !isJsonObject(choice))
    return refuse('tool_choice', '`tool_choice` must be a string or an object')
  const chosen = isJsonObject(choice) ? given(choice, 'function') : undefined
  return {
    ...(tools ? { tools: tools.map((tool, index) => upstreamTool(tool, `tools[${index}]`)) } : {}),
    ...(isJsonObject(choice) && isJsonObject(chosen)
      ? { tool_choice: { ...without(choice, ['function']), ...chosen } }
      : {}),
  }
}

/** `response_format` as `text.format`; an explicit `text.format` wins. */
function upstreamText(body: JsonObject): JsonObject {
  const format = responseFormat(body)
  const text = optionalObject(body, 'text')
  if (format === undefined || (text && given(text, 'format') !== undefined)) return {}
  const nested = given(format, 'json_schema')
  const flat = isJsonObject(nested) ? { ...without(format, ['json_schema']), ...nested } : format
  return { text: { ...text, format: flat } }
}

/** What is measured as what it is, or is no input. */
const measured = 'instructions input tools text previous_response_id include stream_options'.split(
  ' ',
)

/**
 * Reads a responses body and writes it the way upstream reads it; everything not named
 * there is passed on as it came. @throws DomainError `invalid_request`, naming the field
 */
export function readResponsesRequest(body: JsonObject): ResponsesRequest {
  const model = modelName(body)
  const input = upstreamInput(body)
  const stream = flag(body, 'stream')
  checkNumber(body, 'temperature', { min: 0, max: 2 })
  // Its usage would only be known later, and there is no way here to ask for the result.
  if (flag(body, 'background')) refuse('background', '`background` must not be true')
  checkContinuation(body)
  const upstream: JsonObject = {
    ...without(body, ['model', 'stream', 'response_format']),
    input,
    ...upstreamTools(body),
    ...upstreamText(body),
  }
  return {
    model,
    stream,
    body: upstream,
    inputSize: measureInput(
      [own(body, 'instructions'), input],
      [upstream['tools'], upstream['text']],
      without(upstream, measured),
    ),
  }
}
