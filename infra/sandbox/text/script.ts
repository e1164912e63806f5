import { NO_TOKENS, type NewCall, type Asker } from '../calls/run.ts'
import type { CallOutcome, CallUsage } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, isOn, UnknownSwitch, wordOf, type Faults } from '../faults/vocabulary.ts'
import { IdMaker } from '../kit/clock.ts'
import { promptTokens, tokensOf, TOOL_PROMPT_TOKENS, type TextOrder } from './order.ts'
import { type CacheUse, NO_CACHE, plain, PrefixCache } from './cache.ts'
import { sampleOf } from './sample.ts'

/** Some beyond ASCII, so that frames and pieces of frames are cut within characters. */
const WORDS = (
  'the sandbox answers with words that follow from nothing but their number and the length of ' +
  'what was said to it – naïve, plain and the same each time ☀ so that a test may count them'
).split(' ')

/** The answer follows from this many characters of the last message, and repeats this many. */
const MAX_LOOKED_AT = 4_000
const MAX_REPEATED = 60
const MAX_WORDS = 200_000
const MAX_CACHED_TEXTS = 500
const MAX_CACHED_WORDS = 1000

/** A text and the pieces in which a stream sends it. */
export interface ScriptedText {
  readonly text: string
  readonly pieces: readonly string[]
}

const NO_TEXT: ScriptedText = { text: '', pieces: [] }

const textsBySeed = new Map<string, ScriptedText>()

/** The beginning of the last message of the user, as one line that can be read. */
function questionOf({ units }: TextOrder): string {
  const { text = '' } =
    units.findLast(({ role, text: said }) => role === 'user' && said !== '') ?? {}
  const line = plain(text.slice(0, MAX_LOOKED_AT))
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim()
  const points = Array.from(line)
  return points.length > MAX_REPEATED ? `${points.slice(0, MAX_REPEATED).join('')}…` : line
}

/** The answer that says what it is, where the request asks for no other: always in 16 pieces. */
function sentenceFor(order: TextOrder): ScriptedText {
  const pieces = [
    ...'This is the sandbox’s answer to:'.split(/(?= )/),
    ` ${questionOf(order) || '(no text)'}`,
    ...' – no real model was asked to give it'.split(/(?= )/),
  ]
  return { text: pieces.join(''), pieces }
}

/** Words of this number, the first one chosen by `offset`; the same each time. */
function wordsOf(count: number, offset: number): ScriptedText {
  const words = Math.min(count, MAX_WORDS)
  const start = offset % WORDS.length
  const key = `${words}.${start}`
  const known = textsBySeed.get(key)
  if (known !== undefined) return known
  const pieces = Array.from({ length: words }, (_, i) => {
    const word = WORDS[(start + i) % WORDS.length] ?? ''
    return i === 0 ? word : ` ${word}`
  })
  const answer: ScriptedText = { text: pieces.join(''), pieces }
  if (textsBySeed.size < MAX_CACHED_TEXTS && words <= MAX_CACHED_WORDS) textsBySeed.set(key, answer)
  return answer
}

/** A text in pieces of `size` characters, surrogate pairs kept whole. */
function inPieces(text: string, size: number): ScriptedText {
  const points = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < points.length; at += size) pieces.push(points.slice(at, at + size).join(''))
  return { text, pieces }
}

/** The longest beginning of at most so many tokens; the same object when nothing is lost. */
function cutTo(answer: ScriptedText, maxTokens: number): ScriptedText {
  const bytes = Buffer.from(answer.text)
  const limit = maxTokens * 4
  if (bytes.length <= limit) return answer
  let end = limit
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const text = bytes.subarray(0, end).toString('utf8')
  const pieces: string[] = []
  let left = text.length
  for (const piece of answer.pieces) {
    if (left <= 0) break
    pieces.push(piece.slice(0, left))
    left -= piece.length
  }
  return { text, pieces }
}

/** A function call of an answer. */
export interface PlannedCall {
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

/** How an answer ends: on its own, at the length limit, in function calls, or held back. */
export type ScriptEnd = 'stop' | 'length' | 'tools' | 'blocked'

/** Everything an answer will hold, whatever its wire. */
export interface Script {
  readonly answer: ScriptedText
  /** Reasoning to show. */
  readonly thoughts: ScriptedText
  readonly calls: readonly PlannedCall[]
  /** Built-in tools it uses, in order, one entry a use. */
  readonly builtins: readonly string[]
  readonly end: ScriptEnd
  readonly usage: CallUsage
}

const REASONING_TOKENS = 64
const MAX_TOOL_USES = 50
const MAX_HUGE = 64 * 1024 * 1024
const ARGUMENT_PIECE = 7
const THOUGHTS = inPieces(
  '**Reading the question**\n\nFirst what was asked, then what follows.',
  24,
)

/** Pieces in which the arguments of a call are streamed. */
export function argumentPieces(call: PlannedCall): readonly string[] {
  return inPieces(call.arguments, ARGUMENT_PIECE).pieces
}

/** Names of the tools this answer calls. @throws UnknownSwitch for one that was not offered. */
function toolsOf(order: TextOrder, faults: Faults): readonly string[] {
  const offered = [...order.functions.map((one) => one.name), ...order.builtins]
  const word = wordOf(faults, 'tool')
  if (word !== null && !order.answered) {
    const names = word.split(',')
    const stray = names.find((name) => !offered.includes(name))
    if (stray !== undefined) throw new UnknownSwitch(`tool ${stray} was not offered`)
    return names
  }
  if (order.forced === null) return []
  if (order.forced !== true) return offered.includes(order.forced) ? [order.forced] : []
  return offered.slice(0, 1)
}

function textFor(order: TextOrder, faults: Faults, promptTokens: number): ScriptedText {
  const stated = countOf(faults, 'words')
  const words = stated === null ? sentenceFor(order) : wordsOf(stated, promptTokens)
  if (order.form.kind === 'schema') return inPieces(JSON.stringify(sampleOf(order.form.schema)), 5)
  if (order.form.kind === 'json') return inPieces(JSON.stringify({ answer: words.text }), 5)
  const huge = countOf(faults, 'huge-frame')
  if (huge === null) return words
  const piece = 'x'.repeat(Math.min(huge, MAX_HUGE))
  return { text: words.text + piece, pieces: [...words.pieces, piece] }
}

function reasoningOf(order: TextOrder, faults: Faults): number {
  const stated = countOf(faults, 'reasoning-tokens')
  if (stated !== null) return stated
  if (isOn(faults, 'thoughts')) return order.reasoning ?? REASONING_TOKENS
  return order.model.reasons ? (order.reasoning ?? REASONING_TOKENS) : 0
}

function cacheOf(used: CacheUse, faults: Faults): CacheUse {
  return {
    read: countOf(faults, 'cached-tokens') ?? used.read,
    written5m: countOf(faults, 'cache-write-5m') ?? used.written5m,
    written1h: countOf(faults, 'cache-write-1h') ?? used.written1h,
  }
}

interface Counted {
  readonly input: number
  readonly cache: CacheUse
  readonly visible: number
  readonly reasoning: number
  readonly toolPrompt: number
}

function usageOf(counted: Counted, faults: Faults): CallUsage {
  if (isOn(faults, 'zero-usage')) return NO_TOKENS
  const { cache, toolPrompt } = counted
  const output = countOf(faults, 'tokens') ?? counted.visible + counted.reasoning
  return {
    input_tokens: Math.max(counted.input, cache.read + cache.written5m + cache.written1h),
    cached_input_tokens: cache.read,
    cache_write_5m_tokens: cache.written5m,
    cache_write_1h_tokens: cache.written1h,
    output_tokens: output,
    reasoning_tokens: Math.min(counted.reasoning, output),
    tool_prompt_tokens: toolPrompt,
  }
}

/** Decides an answer. @throws UnknownSwitch when a switch asks for a tool that was not offered. */
function scriptOf(
  order: TextOrder,
  faults: Faults,
  readCache: (order: TextOrder) => CacheUse,
): Script {
  const input = promptTokens(order)
  const cache = cacheOf(order.model.caches ? readCache(order) : NO_CACHE, faults)
  if (isOn(faults, 'blocked')) {
    const usage = usageOf({ input, cache, visible: 0, reasoning: 0, toolPrompt: 0 }, faults)
    const none = { answer: NO_TEXT, thoughts: NO_TEXT, calls: [], builtins: [] }
    return { ...none, end: 'blocked', usage }
  }
  const names = toolsOf(order, faults)
  const calls = names.flatMap((name): PlannedCall[] => {
    const found = order.functions.find((one) => one.name === name)
    return found === undefined ? [] : [{ name, arguments: JSON.stringify(sampleOf(found.schema)) }]
  })
  const uses = Math.min(countOf(faults, 'tool-searches') ?? 1, order.singleUse ? 1 : MAX_TOOL_USES)
  const builtins = [...new Set([...names, ...order.unasked])]
    .filter((name) => order.builtins.includes(name))
    .flatMap((name) => Array.from({ length: uses }, () => name))
  const whole = calls.length > 0 ? NO_TEXT : textFor(order, faults, input)
  const answer = order.maxTokens === null ? whole : cutTo(whole, order.maxTokens)
  const reasoning = reasoningOf(order, faults)
  let visible = tokensOf(answer.text) * order.choices
  for (const call of calls) visible += tokensOf(call.name) + tokensOf(call.arguments)
  const toolPrompt = order.countsToolPrompts ? builtins.length * TOOL_PROMPT_TOKENS : 0
  const cut = answer !== whole || isOn(faults, 'incomplete')
  return {
    answer,
    thoughts:
      reasoning > 0 && (order.showThoughts || isOn(faults, 'thoughts')) ? THOUGHTS : NO_TEXT,
    calls,
    builtins,
    end: cut ? 'length' : calls.length > 0 ? 'tools' : 'stop',
    usage: usageOf({ input, cache, visible, reasoning, toolPrompt }, faults),
  }
}

/** What the text families share: ids, the prompt cache, the record of what was accepted. */
export class TextService {
  readonly ids: IdMaker
  readonly #kit: FamilyKit
  readonly #cache: PrefixCache

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.ids = new IdMaker(kit.random)
    this.#cache = new PrefixCache(kit.clock.nowMs)
    kit.onReset(() => this.#cache.reset())
  }

  /** Seconds since 1970. */
  nowSeconds(): number {
    return Math.floor(this.#kit.clock.nowMs() / 1000)
  }

  /** Decides an answer. @throws UnknownSwitch */
  plan(order: TextOrder, asker: Asker, faults: Faults): Script {
    return scriptOf(order, faults, (asked) => this.#cache.use(asked, asker.credential))
  }
}

const OUTCOMES: Readonly<Record<Script['end'], CallOutcome>> = {
  stop: 'completed',
  tools: 'completed',
  length: 'incomplete',
  blocked: 'blocked',
}

/** What is recorded of a call that gets such an answer. */
export function callOf(order: TextOrder, script: Script, id: string, wireUsage: unknown): NewCall {
  const toolCalls: Record<string, number> = {}
  for (const name of script.builtins) toolCalls[name] = (toolCalls[name] ?? 0) + 1
  return {
    id,
    model: order.model.name,
    requestedModel: order.requestedModel,
    stream: order.stream,
    outcome: OUTCOMES[script.end],
    usage: script.usage,
    wireUsage,
    toolCalls,
  }
}
