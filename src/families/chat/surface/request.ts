import { chatRules } from '../rules/wire.ts'
import type { InputSize } from '../../text/rules/estimate.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
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

/** A chat request as the use case takes it. */
export interface ChatRequest {
  readonly model: string
  readonly stream: boolean
  /** The caller wants the usage chunk, and `usage: null` in the others. */
  readonly includeUsage: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

const roles: ReadonlySet<unknown> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
])

function checkContent(message: JsonObject, at: string): void {
  const content = given(message, 'content')
  if (content === undefined) {
    // What an assistant says may be tool calls alone.
    if (message['role'] !== 'assistant') refuse(`${at}.content`, `\`${at}.content\` is required`)
    return
  }
  if (typeof content === 'string') return
  if (!Array.isArray(content))
    refuse(`${at}.content`, `\`${at}.content\` must be a string or an array of parts`)
  for (const [index, part] of (content as readonly unknown[]).entries()) {
    const partAt = `${at}.content[${index}]`
    const described = objectAt(part, partAt)
    stringAt(described, 'type', `${partAt}.type`)
    refuseFileId(described, partAt)
  }
}

/** Speech an assistant gave earlier is named by an id, and the account that keeps it is shared (P8). */
function checkAudio(message: JsonObject, at: string): void {
  if (given(message, 'audio') !== undefined)
    refuse(`${at}.audio`, `\`${at}.audio\` is not offered: send what was said in \`content\``)
}

function checkMessages(body: JsonObject): void {
  const messages = optionalList(body, 'messages')
  if (messages === undefined) return refuse('messages', '`messages` is required')
  if (messages.length === 0) return refuse('messages', '`messages` must not be empty')
  for (const [index, value] of messages.entries()) {
    const at = `messages[${index}]`
    const message = objectAt(value, at)
    if (!roles.has(given(message, 'role')))
      refuse(`${at}.role`, `\`${at}.role\` must be one of ${[...roles].join(', ')}`)
    checkContent(message, at)
    checkAudio(message, at)
    optionalList(message, 'tool_calls', `${at}.tool_calls`)
  }
}

function checkTools(body: JsonObject): void {
  for (const [index, value] of (optionalList(body, 'tools') ?? []).entries()) {
    const at = `tools[${index}]`
    const tool = objectAt(value, at)
    const type = stringAt(tool, 'type', `${at}.type`)
    refuseUnmetered(chatRules, tool, at)
    if (type !== 'function') continue
    const described = objectAt(given(tool, 'function'), `${at}.function`)
    stringAt(described, 'name', `${at}.function.name`)
    optionalObject(described, 'parameters', `${at}.function.parameters`)
  }
  for (const [index, value] of (optionalList(body, 'functions') ?? []).entries())
    stringAt(objectAt(value, `functions[${index}]`), 'name', `functions[${index}].name`)
  for (const name of ['tool_choice', 'function_call']) {
    const choice = given(body, name)
    if (choice !== undefined && typeof choice !== 'string' && !isJsonObject(choice))
      refuse(name, `\`${name}\` must be a string or an object`)
  }
}

/** What upstream gets of `stream_options`: asking for usage is not the caller's business there. */
function streamOptions(
  body: JsonObject,
  stream: boolean,
): { readonly rest: JsonObject; readonly includeUsage: boolean } {
  const options = optionalObject(body, 'stream_options')
  if (options === undefined) return { rest: {}, includeUsage: false }
  if (!stream)
    return refuse('stream_options', '`stream_options` is only allowed when `stream` is true')
  const includeUsage = flag(options, 'include_usage', 'stream_options.include_usage')
  const rest = without(options, ['include_usage'])
  return { rest: Object.keys(rest).length === 0 ? {} : { stream_options: rest }, includeUsage }
}

/** What is measured as what it is, or is no input. */
const measured = 'model messages tools functions response_format stream_options'.split(' ')

/**
 * Reads a chat body: what is named there is checked, everything else is passed on as it
 * came. @throws DomainError `invalid_request`, naming the field
 */
export function readChatRequest(body: JsonObject): ChatRequest {
  const model = modelName(body)
  checkMessages(body)
  checkNumber(body, 'temperature', { min: 0, max: 2 })
  checkNumber(body, 'n', { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true })
  const stream = flag(body, 'stream')
  const options = streamOptions(body, stream)
  checkTools(body)
  optionalObject(body, 'web_search_options')
  responseFormat(body)
  return {
    model,
    stream,
    includeUsage: options.includeUsage,
    body: { ...without(body, ['model', 'stream', 'stream_options']), ...options.rest },
    inputSize: measureInput(
      [body['messages']],
      [body['tools'], body['functions'], body['response_format']],
      without(body, measured),
    ),
  }
}
