import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS, numberIn, objectsIn, textIn } from '../kit/body.ts'
import type { SandboxOptions } from '../options.ts'
import {
  type AnswerForm,
  findModel,
  type ToolChoice,
  type InputKind,
  type OfferedFunction,
  type PromptUnit,
  type TextOrder,
  textsIn,
  type TextModel,
  tokensOf,
} from '../text/order.ts'

/** The members of a chat request that this upstream reads; it ignores unknown ones. */
export interface ChatRequest extends TextOrder {
  /** `functions` were offered, not `tools`. */
  readonly legacy: boolean
  readonly includeUsage: boolean
  /** Cumulative usage on every chunk. */
  readonly chunkUsage: boolean
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const MAX_CHOICES = 8
const SEARCH = 'web_search'
const REASONING: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 8,
  low: 32,
  medium: 64,
  high: 128,
  xhigh: 256,
}

const PARTS: Readonly<Record<string, InputKind>> = {
  image_url: 'IMAGE',
  input_audio: 'AUDIO',
  video_url: 'VIDEO',
  file: 'DOCUMENT',
}

/** Reasoning tokens of an effort; null: the model's own. */
export function effortTokens(effort: unknown): number | null {
  return typeof effort === 'string' ? (REASONING[effort] ?? null) : null
}

/** A model that is offered. @throws Refusal */
export function modelNamed(name: string | null, options: SandboxOptions): TextModel {
  if (name === null || name === '') {
    throw new Refusal('invalid_value', 'you must provide a model parameter', 'model')
  }
  const model = findModel(name, options)
  if (model !== null) return model
  const shown = name.slice(0, 100)
  const why = `The model \`${shown}\` does not exist or you do not have access to it.`
  throw new Refusal('model_not_found', why, 'model')
}

/** A count of tokens. @throws Refusal when it is stated but no whole number above 0. */
export function tokenLimit(body: Fields, name: string): number | null {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new Refusal(
    'invalid_value',
    `Invalid value for '${name}': must be a positive integer.`,
    name,
  )
}

/** @throws Refusal when the temperature is stated but not from 0 to 2. */
export function checkTemperature(body: Fields): void {
  const { temperature } = body
  if (temperature === undefined || temperature === null) return
  if (typeof temperature === 'number' && temperature >= 0 && temperature <= 2) return
  const why = "Invalid 'temperature': expected a number from 0 to 2."
  throw new Refusal('invalid_value', why, 'temperature')
}

/** Whether a message or part asks for the one-hour cache. */
export function asksLongCache(fields: Fields): boolean {
  const control = fields['cache_control']
  return isFields(control) && control['ttl'] === '1h'
}

function unitOf(message: Fields, index: number): PromptUnit {
  const role = textIn(message, 'role')
  if (role === null || !ROLES.has(role)) {
    const why = `Invalid value for 'messages[${index}].role': expected one of ${[...ROLES].join(', ')}.`
    throw new Refusal('invalid_value', why, `messages[${index}].role`)
  }
  const { content } = message
  if (typeof content === 'string') {
    return { role, text: content, media: [], longCache: asksLongCache(message) }
  }
  const called = message['tool_calls'] ?? message['function_call']
  const extra = called === undefined || called === null ? '' : JSON.stringify(called)
  if (!Array.isArray(content)) {
    if (role === 'assistant' || content === null)
      return { role, text: extra, media: [], longCache: false }
    const why = `Invalid type for 'messages[${index}].content': expected a string or an array of parts.`
    throw new Refusal('invalid_type', why, `messages[${index}].content`)
  }
  const parts = objectsIn(content)
  const texts = parts.map((part) => textIn(part, 'text') ?? '').filter((text) => text !== '')
  const media = parts.flatMap((part) => PARTS[textIn(part, 'type') ?? ''] ?? [])
  return {
    role,
    text: texts.join('\n') + extra,
    media,
    longCache: asksLongCache(message) || parts.some(asksLongCache),
  }
}

/** The last user message's text, read without checking the rest. */
export function lastUserText(body: Fields | null): string {
  const message = objectsIn(body?.['messages']).findLast((one) => one['role'] === 'user')
  if (message === undefined) return ''
  if (typeof message['content'] === 'string') return message['content']
  return textsIn(message['content'])
}

function functionsOf(body: Fields): readonly OfferedFunction[] {
  const modern = objectsIn(body['tools']).map((tool) => tool['function'])
  return objectsIn([...modern, ...objectsIn(body['functions'])]).map((one) => ({
    name: textIn(one, 'name') ?? '',
    schema: one['parameters'],
  }))
}

function forcedBy(choice: unknown): ToolChoice {
  if (choice === 'required') return true
  if (!isFields(choice)) return null
  const named = isFields(choice['function']) ? choice['function'] : choice
  return textIn(named, 'name')
}

function formOf(format: unknown): AnswerForm {
  if (!isFields(format)) return { kind: 'text' }
  if (format['type'] === 'json_object') return { kind: 'json' }
  if (format['type'] !== 'json_schema') return { kind: 'text' }
  const wrapper = isFields(format['json_schema']) ? format['json_schema'] : NO_FIELDS
  return { kind: 'schema', schema: wrapper['schema'] }
}

/** Reads a chat request. @throws Refusal */
export function parseChat(body: Fields | null, options: SandboxOptions): ChatRequest {
  if (body === null) {
    const why = 'We could not parse the JSON body of your request.'
    throw new Refusal('invalid_json', why)
  }
  const requestedModel = textIn(body, 'model')
  const model = modelNamed(requestedModel, options)
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0) {
    const why = "Invalid 'messages': expected an array with at least one message."
    throw new Refusal('invalid_value', why, 'messages')
  }
  checkTemperature(body)
  const units = messages.map((one, index) => unitOf(isFields(one) ? one : NO_FIELDS, index))
  const lastUser = units.findLastIndex((unit) => unit.role === 'user')
  const streamOptions = isFields(body['stream_options']) ? body['stream_options'] : NO_FIELDS
  const offered = body['tools'] ?? body['functions']
  const functions = offered === undefined || offered === null ? [] : functionsOf(body)
  return {
    model,
    requestedModel: requestedModel ?? '',
    stream: body['stream'] === true,
    units,
    toolTokens: functions.length === 0 ? 0 : tokensOf(JSON.stringify(offered)),
    continuedTokens: 0,
    answered: units.some(
      (unit, i) => i > lastUser && (unit.role === 'tool' || unit.role === 'function'),
    ),
    functions,
    builtins: isFields(body['web_search_options']) || model.searches ? [SEARCH] : [],
    unasked: model.searches ? [SEARCH] : [],
    singleUse: true,
    forced: forcedBy(body['tool_choice'] ?? body['function_call']),
    form: formOf(body['response_format']),
    maxTokens: tokenLimit(body, 'max_completion_tokens') ?? tokenLimit(body, 'max_tokens'),
    choices: Math.min(Math.max(1, Math.floor(numberIn(body, 'n') ?? 1)), MAX_CHOICES),
    reasoning: effortTokens(body['reasoning_effort']),
    showThoughts: false,
    countsToolPrompts: false,
    legacy: Array.isArray(body['functions']) && !Array.isArray(body['tools']),
    includeUsage: streamOptions['include_usage'] === true,
    chunkUsage: streamOptions['chunk_include_usage'] === true,
  }
}
