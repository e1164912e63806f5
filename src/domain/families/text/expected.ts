import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { TextFamily } from './models.ts'

/** Where chat and responses let a caller bound the output; the native wire nests it. */
const BOUNDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const

const boundNames: Readonly<Record<TextFamily, string>> = {
  chat: 'max_completion_tokens',
  responses: 'max_output_tokens',
  native: 'generationConfig.maxOutputTokens',
}

/**
 * Output tokens a call counts towards its token's limit a minute until it ends, where the request
 * names no bound. A guess will do there; a hold reserves the largest output of the model.
 */
const ASSUMED_OUTPUT_TOKENS = 2_048

/** The most a call can answer with, each of its answers with at most `largest` tokens. */
export function largestOutput(body: JsonObject, largest: number): number {
  const each = Math.min(boundOf(body) ?? largest, largest)
  return Math.min(each * answersOf(body), Number.MAX_SAFE_INTEGER)
}

/** How many answers a call asks for. */
export function answersOf(body: JsonObject): number {
  return countOf(body['n']) ?? countOf(nativeConfig(body)['candidateCount']) ?? 1
}

/** Where a caller bounds the output: the member it wrote, or the one of its wire. */
export function boundName(family: TextFamily, body: JsonObject): string {
  const written = BOUNDS.find((name) => countOf(body[name]) !== undefined)
  return written ?? boundNames[family]
}

/** What a call is taken to answer with, as far as limits a minute go. */
export function expectedOutput(body: JsonObject): number {
  return largestOutput(body, boundOf(body) ?? ASSUMED_OUTPUT_TOKENS)
}

/** The most tokens of one answer, as the caller says. */
function boundOf(body: JsonObject): number | undefined {
  return (
    BOUNDS.map((name) => countOf(body[name])).find((count) => count !== undefined) ??
    countOf(nativeConfig(body)['maxOutputTokens'])
  )
}

function nativeConfig(body: JsonObject): JsonObject {
  const config = body['generationConfig']
  return isJsonObject(config) ? config : {}
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
