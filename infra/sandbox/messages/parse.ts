import { createHash } from 'node:crypto'
import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, numberIn, objectsIn, textIn } from '../kit/body.ts'
import type { SandboxOptions } from '../options.ts'
import {
  findModel,
  type InputKind,
  type OfferedFunction,
  type PromptUnit,
  type TextModel,
  type TextOrder,
  textsIn,
  type ToolChoice,
  tokensOf,
} from '../text/order.ts'
import { type AppliedEdit, edited } from './editing.ts'

/** A messages request as far as this upstream reads it. */
export interface MessagesRequest extends TextOrder {
  /** The speed and the tier that were asked for. */
  readonly speed: string
  readonly tier: string
  /** Edits of the context that were made; undefined where none are asked for. */
  readonly edits: readonly AppliedEdit[] | undefined
}

/** From this version on, samplings are not steered. */
const LATER_VERSION = '2026-10-21'
const VERSIONS = ['2023-01-01', '2023-06-01', LATER_VERSION]
const STEERING = ['temperature', 'top_p', 'top_k']
const ROLES = new Set(['user', 'assistant', 'system'])
const MEDIA: Readonly<Record<string, InputKind>> = { image: 'IMAGE', document: 'DOCUMENT' }
const DEFAULT_THINKING = 64

function invalid(message: string): Refusal {
  return new Refusal('invalid_request_error', message)
}

/** The signature over a thought, which no one else can make. */
export function signatureOf(thinking: string): string {
  return createHash('sha256').update(`sandbox ${thinking}`).digest('base64')
}

/** @throws Refusal for a version that is missing or unknown, and for what a version no longer takes */
function checkVersion(version: unknown, body: Fields): void {
  if (typeof version !== 'string') throw invalid('anthropic-version: header is required')
  if (!VERSIONS.includes(version))
    throw invalid(`anthropic-version: "${version.slice(0, 40)}" is not a valid version`)
  const steering = STEERING.find((name) => body[name] !== undefined)
  if (version === LATER_VERSION && steering !== undefined)
    throw invalid(`${steering}: Extra inputs are not permitted`)
}

function modelNamed(name: string | null, options: SandboxOptions): TextModel {
  if (name === null || name === '') throw invalid('model: Field required')
  const model = findModel(name, options)
  if (model === null) throw new Refusal('not_found_error', `model: ${name.slice(0, 100)}`)
  return model
}

function isLongCached(part: Fields): boolean {
  const control = part['cache_control']
  return isFields(control) && control['ttl'] === '1h'
}

/** The text of a block as far as it counts. @throws Refusal for a thought with a wrong signature */
function textOfBlock(block: Fields, at: string): string {
  switch (block['type']) {
    case 'thinking': {
      const thinking = textIn(block, 'thinking') ?? ''
      if (textIn(block, 'signature') !== signatureOf(thinking))
        throw invalid(`${at}: Invalid \`signature\` in \`thinking\` block`)
      return thinking
    }
    case 'tool_use':
    case 'server_tool_use':
      return `${textIn(block, 'name') ?? ''}${JSON.stringify(block['input'] ?? {})}`
    case 'tool_result': {
      const { content } = block
      return typeof content === 'string' ? content : textsIn(content)
    }
    default:
      return textIn(block, 'text') ?? ''
  }
}

function unitOf(message: Fields, index: number): PromptUnit {
  const at = `messages.${index}`
  const role = textIn(message, 'role') ?? ''
  if (!ROLES.has(role)) throw invalid(`${at}.role: Input should be 'user' or 'assistant'`)
  const { content } = message
  if (typeof content === 'string') return { role, text: content, media: [], longCache: false }
  if (!Array.isArray(content)) throw invalid(`${at}.content: Input should be a valid list`)
  const blocks = objectsIn(content)
  const isResult = blocks.some(({ type }) => type === 'tool_result')
  return {
    role: isResult ? 'tool' : role,
    text: blocks.map((block, i) => textOfBlock(block, `${at}.content.${i}`)).join('\n'),
    media: blocks.flatMap(({ type }) => MEDIA[String(type)] ?? []),
    longCache: blocks.some(isLongCached),
  }
}

function systemUnit(system: unknown): readonly PromptUnit[] {
  if (typeof system === 'string')
    return [{ role: 'system', text: system, media: [], longCache: false }]
  const blocks = objectsIn(system)
  if (blocks.length === 0) return []
  const longCache = blocks.some(isLongCached)
  return [{ role: 'system', text: textsIn(blocks), media: [], longCache }]
}

/** The last user message's text, read without checking the rest. */
export function lastUserText(body: Fields | null): string {
  const message = objectsIn(body?.['messages']).findLast(
    (one) =>
      one['role'] === 'user' &&
      (typeof one['content'] === 'string' || textsIn(one['content']).trim() !== ''),
  )
  if (message === undefined) return ''
  return typeof message['content'] === 'string' ? message['content'] : textsIn(message['content'])
}

const BUILTINS: readonly (readonly [type: RegExp, name: string])[] = [
  [/^web_search_/, 'web_search'],
  [/^web_fetch_/, 'web_fetch'],
]

function builtinsIn(tools: readonly Fields[]): readonly string[] {
  return BUILTINS.flatMap(([pattern, name]) =>
    tools.some((tool) => pattern.test(textIn(tool, 'type') ?? '')) ? [name] : [],
  )
}

function functionsIn(tools: readonly Fields[]): readonly OfferedFunction[] {
  return tools
    .filter((tool) => isFields(tool['input_schema']))
    .map((tool) => ({ name: textIn(tool, 'name') ?? '', schema: tool['input_schema'] }))
}

function forcedBy(choice: unknown): ToolChoice {
  if (!isFields(choice)) return null
  return choice['type'] === 'any' ? true : choice['type'] === 'tool' ? textIn(choice, 'name') : null
}

function thinkingOf(thinking: unknown): number | null {
  if (!isFields(thinking) || thinking['type'] === 'disabled') return null
  return Math.min(numberIn(thinking, 'budget_tokens') ?? DEFAULT_THINKING, DEFAULT_THINKING)
}

/** Reads a messages request. @throws Refusal */
export function parseMessages(
  body: Fields | null,
  version: unknown,
  options: SandboxOptions,
): MessagesRequest {
  if (body === null) throw invalid('The request body is not valid JSON')
  checkVersion(version, body)
  const requestedModel = textIn(body, 'model')
  const model = modelNamed(requestedModel, options)
  const maxTokens = numberIn(body, 'max_tokens')
  if (maxTokens === null) throw invalid('max_tokens: Field required')
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw invalid('max_tokens: Input should be greater than or equal to 1')
  const { messages, applied } = edited(objectsIn(body['messages']), body['context_management'])
  if (messages.length === 0) throw invalid('messages: at least one message is required')
  const units = messages.map(unitOf)
  const tools = objectsIn(body['tools'])
  const thinking = thinkingOf(body['thinking'])
  return {
    model,
    requestedModel: requestedModel ?? '',
    stream: body['stream'] === true,
    units: [...systemUnit(body['system']), ...units],
    toolTokens: tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)),
    continuedTokens: 0,
    answered: units.at(-1)?.role === 'tool',
    functions: functionsIn(tools),
    builtins: builtinsIn(tools),
    unasked: [],
    singleUse: false,
    forced: forcedBy(body['tool_choice']),
    form: { kind: 'text' },
    maxTokens,
    choices: 1,
    // On this wire a model thinks only where it is asked to.
    reasoning: thinking === null && model.reasons ? 0 : thinking,
    showThoughts: thinking !== null,
    countsToolPrompts: false,
    speed: textIn(body, 'speed') ?? 'standard',
    tier: textIn(body, 'service_tier') ?? 'auto',
    edits: applied,
  }
}
