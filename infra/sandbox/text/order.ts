import { objectsIn, textIn } from '../kit/body.ts'
import { knownTo, type SandboxOptions } from '../options.ts'

/** A text model this upstream offers. */
export interface TextModel {
  /** As it is asked for. */
  readonly name: string
  /** As answers name it. */
  readonly version: string
  /** Reads and writes a prompt cache. */
  readonly caches: boolean
  /** Thinks before it answers. */
  readonly reasons: boolean
  /** Looks at files given by URL. */
  readonly files: boolean
  /** Searches the web before each answer, on the chat wire. */
  readonly searches: boolean
}

const OFFERED = ['text-basic', 'text-cache', 'text-reason', 'text-tools', 'gen-3-pro-preview-file']
const VERSION = '2026-01-15'
const MAX_NAME_LENGTH = 200

/** What a model can do follows from the words of its name. */
function model(name: string): TextModel {
  return {
    name,
    version: `${name}-${VERSION}`,
    caches: name.includes('-cache'),
    reasons: name.includes('-reason') || name.startsWith('gen-3-'),
    files: name.endsWith('-file'),
    searches: name.includes('-search'),
  }
}

/** Everything on offer without further options. */
export const offeredModels: readonly TextModel[] = OFFERED.map(model)
const BY_NAME = new Map(
  offeredModels.flatMap((one) => [one.name, one.version].map((n) => [n, one])),
)

/** A model by its name, with or without its version; null when it is not offered. */
export function findModel(name: string, options: SandboxOptions): TextModel | null {
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  if (name.length > MAX_NAME_LENGTH) return null
  return knownTo(options, name) ? model(name) : null
}

/** Tokens of a text: one for every four bytes of its UTF-8 begun. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** Tokens every message costs besides its text. */
const MESSAGE_TOKENS = 4

/** Kinds of input that are no text. */
export type InputKind = 'IMAGE' | 'AUDIO' | 'VIDEO' | 'DOCUMENT'

/** Tokens of one input of a kind, whatever its size. */
export const MEDIUM_TOKENS: Readonly<Record<InputKind, number>> = {
  IMAGE: 258,
  AUDIO: 320,
  VIDEO: 2580,
  DOCUMENT: 516,
}

/** Tokens a call of a built-in tool adds to the input of the native wire. */
export const TOOL_PROMPT_TOKENS = 50

/** The kind of input a media type is. */
export function mediumOf(mediaType: string): InputKind {
  if (mediaType.startsWith('image/')) return 'IMAGE'
  if (mediaType.startsWith('audio/')) return 'AUDIO'
  return mediaType.startsWith('video/') ? 'VIDEO' : 'DOCUMENT'
}

/** One message of a prompt, as far as counting goes. */
export interface PromptUnit {
  readonly role: string
  readonly text: string
  readonly media: readonly InputKind[]
  /** Asked to be cached for the hour rather than for five minutes. */
  readonly longCache: boolean
}

/** A function the caller offers. */
export interface OfferedFunction {
  readonly name: string
  /** JSON schema of its arguments. */
  readonly schema: unknown
}

/** What the answer must be. */
export type AnswerForm =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown }

/** Whether a tool must be called: no, any, or that one. */
export type ToolChoice = null | true | string

/** A request of any text wire, reduced to what decides its answer. */
export interface TextOrder {
  readonly model: TextModel
  readonly requestedModel: string
  readonly stream: boolean
  readonly units: readonly PromptUnit[]
  /** Tokens of the tools offered. */
  readonly toolTokens: number
  /** Tokens of what this request continues. */
  readonly continuedTokens: number
  /** The results of tools came after the last user message. */
  readonly answered: boolean
  readonly functions: readonly OfferedFunction[]
  readonly builtins: readonly string[]
  /** Built-in tools this model uses whether it is asked to or not. */
  readonly unasked: readonly string[]
  /** The wire has one use of a built-in tool in an answer at most. */
  readonly singleUse: boolean
  readonly forced: ToolChoice
  readonly form: AnswerForm
  readonly maxTokens: number | null
  readonly choices: number
  /** Reasoning tokens that were asked for; null: the model's own. */
  readonly reasoning: number | null
  /** Reasoning is to be shown. */
  readonly showThoughts: boolean
  /** This wire counts the findings of built-in tools as a separate kind of input. */
  readonly countsToolPrompts: boolean
}

/** Tokens of one message. */
export function unitTokens(unit: PromptUnit): number {
  let tokens = MESSAGE_TOKENS + tokensOf(unit.text)
  for (const medium of unit.media) tokens += MEDIUM_TOKENS[medium]
  return tokens
}

/** Tokens of the whole prompt. */
export function promptTokens(order: TextOrder): number {
  let tokens = order.toolTokens + order.continuedTokens
  for (const unit of order.units) tokens += unitTokens(unit)
  return tokens
}

/** The texts of a message's parts, read without judging the rest. */
export function textsIn(parts: unknown): string {
  return objectsIn(parts)
    .map((part) => textIn(part, 'text') ?? '')
    .join('\n')
}
