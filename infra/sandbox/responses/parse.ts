import {
  asksLongCache,
  checkTemperature,
  effortTokens,
  modelNamed,
  tokenLimit,
} from '../chat/parse.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS, objectsIn, textIn } from '../kit/body.ts'
import type { SandboxOptions } from '../options.ts'
import {
  type AnswerForm,
  type ToolChoice,
  type InputKind,
  type OfferedFunction,
  type PromptUnit,
  type TextOrder,
  textsIn,
  tokensOf,
} from '../text/order.ts'

/** A responses request as far as this upstream reads it, with the body it echoes from. */
export interface ResponsesRequest extends TextOrder {
  readonly body: Fields
}

const INPUT_PARTS: Readonly<Record<string, readonly InputKind[]>> = {
  input_text: [],
  input_image: ['IMAGE'],
  input_file: ['DOCUMENT'],
  input_audio: ['AUDIO'],
}
const OUTPUT_PARTS: Readonly<Record<string, readonly InputKind[]>> = {
  output_text: [],
  refusal: [],
}
const ROLES = new Set(['system', 'developer', 'user', 'assistant'])

/** Names a call of a built-in tool goes by, whatever version of it was offered. */
const BUILTINS: Readonly<Record<string, string>> = {
  web_search: 'web_search',
  web_search_preview: 'web_search',
  web_search_preview_2025_03_11: 'web_search',
  web_search_2025_08_26: 'web_search',
  code_interpreter: 'code_interpreter',
  file_search: 'file_search',
}

function invalid(message: string, param: string): Refusal {
  return new Refusal('invalid_value', message, param)
}

function partsOf(item: Fields, index: number, role: string): PromptUnit {
  const allowed = role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS
  const texts: string[] = []
  const media: InputKind[] = []
  const parts = objectsIn(item['content'])
  for (const [at, part] of parts.entries()) {
    const type = textIn(part, 'type') ?? ''
    const kinds = Object.hasOwn(allowed, type) ? allowed[type] : undefined
    if (kinds === undefined) {
      const names = Object.keys(allowed).map((name) => `'${name}'`)
      const where = `input[${index}].content[${at}]`
      throw invalid(`Invalid value: '${type}'. Supported values are: ${names.join(', ')}.`, where)
    }
    const text = textIn(part, 'text')
    if (text !== null) texts.push(text)
    media.push(...kinds)
  }
  return { role, text: texts.join('\n'), media, longCache: parts.some(asksLongCache) }
}

function unitOf(item: Fields, index: number): PromptUnit {
  const type = textIn(item, 'type') ?? 'message'
  if (type === 'function_call_output') {
    const { output } = item
    const text = typeof output === 'string' ? output : JSON.stringify(output ?? '')
    return { role: 'tool', text, media: [], longCache: false }
  }
  if (type !== 'message')
    return { role: type, text: JSON.stringify(item), media: [], longCache: false }
  const role = textIn(item, 'role') ?? ''
  if (!ROLES.has(role)) {
    const names = [...ROLES].map((name) => `'${name}'`)
    throw invalid(
      `Invalid value: '${role}'. Supported values are: ${names.join(', ')}.`,
      `input[${index}]`,
    )
  }
  const { content } = item
  if (typeof content === 'string') return { role, text: content, media: [], longCache: false }
  if (Array.isArray(content)) return partsOf(item, index, role)
  throw invalid(
    'Invalid content: expected a string or an array of parts.',
    `input[${index}].content`,
  )
}

function unitsOf(body: Fields): readonly PromptUnit[] {
  const { input } = body
  const instructions = textIn(body, 'instructions')
  const head: readonly PromptUnit[] =
    instructions === null
      ? []
      : [{ role: 'system', text: instructions, media: [], longCache: false }]
  if (typeof input === 'string') {
    return [...head, { role: 'user', text: input, media: [], longCache: false }]
  }
  if (!Array.isArray(input) || input.length === 0) {
    throw new Refusal('missing_required_parameter', "Missing required parameter: 'input'.", 'input')
  }
  return [...head, ...input.map((one, index) => unitOf(isFields(one) ? one : NO_FIELDS, index))]
}

/** The last user message's text, read without checking the rest. */
export function lastUserText(body: Fields | null): string {
  if (body === null) return ''
  const { input } = body
  if (typeof input === 'string') return input
  const item = objectsIn(input).findLast((one) => one['role'] === 'user')
  if (item === undefined) return ''
  if (typeof item['content'] === 'string') return item['content']
  return textsIn(item['content'])
}

function functionsIn(tools: readonly Fields[]): readonly OfferedFunction[] {
  return tools
    .filter((tool) => tool['type'] === 'function')
    .map((tool) => ({ name: textIn(tool, 'name') ?? '', schema: tool['parameters'] }))
}

function forcedBy(choice: unknown): ToolChoice {
  if (choice === 'required') return true
  if (!isFields(choice)) return null
  return textIn(choice, 'name') ?? BUILTINS[textIn(choice, 'type') ?? ''] ?? null
}

function formOf(body: Fields): AnswerForm {
  const text = isFields(body['text']) ? body['text'] : NO_FIELDS
  const format = isFields(text['format']) ? text['format'] : NO_FIELDS
  if (format['type'] === 'json_object') return { kind: 'json' }
  return format['type'] === 'json_schema'
    ? { kind: 'schema', schema: format['schema'] }
    : { kind: 'text' }
}

/** Members of a response whose input is counted. */
export const COUNTED = new Set(
  `model input instructions previous_response_id conversation parallel_tool_calls reasoning text
  tool_choice tools truncation`.split(/\s+/),
)

/** For members of other wires, this upstream names the replacement. */
const MOVED: Readonly<Record<string, string>> = {
  response_format:
    "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'.",
  messages:
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
  max_tokens: "Unsupported parameter: 'max_tokens'. In the Responses API, use 'max_output_tokens'.",
}

/**
 * Reads a responses request; `continued` returns the tokens of what it continues. @throws Refusal
 */
export function parseResponses(
  body: Fields | null,
  options: SandboxOptions,
  continued: (body: Fields) => number,
): ResponsesRequest {
  if (body === null) {
    const why = 'We could not parse the JSON body of your request.'
    throw new Refusal('invalid_json', why)
  }
  const requestedModel = textIn(body, 'model')
  const model = modelNamed(requestedModel, options)
  const moved = Object.keys(MOVED).find((name) => body[name] !== undefined)
  if (moved !== undefined) throw new Refusal('unsupported_parameter', MOVED[moved] ?? '', moved)
  checkTemperature(body)
  const units = unitsOf(body)
  const tools = objectsIn(body['tools'])
  const lastUser = units.findLastIndex((unit) => unit.role === 'user')
  const reasoning = isFields(body['reasoning']) ? body['reasoning'] : NO_FIELDS
  return {
    body,
    model,
    requestedModel: requestedModel ?? '',
    stream: body['stream'] === true,
    units,
    toolTokens: tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)),
    continuedTokens: continued(body),
    answered: units.some((unit, index) => index > lastUser && unit.role === 'tool'),
    functions: functionsIn(tools),
    builtins: [...new Set(tools.flatMap((tool) => BUILTINS[textIn(tool, 'type') ?? ''] ?? []))],
    unasked: [],
    singleUse: false,
    forced: forcedBy(body['tool_choice']),
    form: formOf(body),
    maxTokens: tokenLimit(body, 'max_output_tokens'),
    choices: 1,
    reasoning: effortTokens(reasoning['effort']),
    showThoughts: (reasoning['summary'] ?? null) !== null,
    countsToolPrompts: false,
  }
}
