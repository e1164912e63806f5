import type { InputSize } from '../../../domain/families/text/estimate.ts'
import { own, refuse } from '../../../domain/families/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { measureInput } from '../../../api/kit/input-size.ts'
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
import { refuseUnmetered } from '../../../api/kit/tools-and-files.ts'
import { upstreamPart } from './parts.ts'
import {
  checkContinuation,
  checkToolReferences,
  isReference,
  refuseReferences,
} from './references.ts'
import { responseFormat } from '../../../api/v1/structured-output.ts'

/** A responses request as the use case takes it. */
export interface ResponsesRequest {
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
  refuseUnmetered('responses', tool, at)
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
