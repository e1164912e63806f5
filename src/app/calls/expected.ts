import { estimateInputTokens } from '../../domain/call/estimate.ts'
import { isJsonObject } from '../../domain/catalog/field-checks.ts'
import type { TextQuote } from '../../domain/pricing/text.ts'
import { holdText } from '../../domain/pricing/text.ts'
import { ASSUMED_OUTPUT_TOKENS, MAX_HELD_OUTPUT_TOKENS } from './limits.ts'
import type { TextCallInput } from './types.ts'

/** Where chat and responses let a caller bound the output; the native wire nests it. */
const BOUNDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const

/** What a call is expected to cost at most, in pico: its hold. */
export function expectedPico(quote: TextQuote, input: TextCallInput): bigint {
  return holdText(quote, {
    inputTokens: estimateInputTokens(input.inputSize),
    outputTokens: outputTokens(input.body),
  })
}

/** Tokens a call is expected to use at most, in and out. */
export function expectedTokens(input: TextCallInput): number {
  return estimateInputTokens(input.inputSize) + outputTokens(input.body)
}

function outputTokens(body: TextCallInput['body']): number {
  const config = body['generationConfig']
  const native = isJsonObject(config) ? config : {}
  const answers = countOf(body['n']) ?? countOf(native['candidateCount']) ?? 1
  const bound =
    BOUNDS.map((name) => countOf(body[name])).find((count) => count !== undefined) ??
    countOf(native['maxOutputTokens']) ??
    ASSUMED_OUTPUT_TOKENS
  return Math.min(bound * answers, MAX_HELD_OUTPUT_TOKENS)
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
