import { estimateInputTokens } from '../../domain/call/estimate.ts'
import type { TextQuote } from '../../domain/pricing/text.ts'
import { holdText } from '../../domain/pricing/text.ts'
import { ASSUMED_OUTPUT_TOKENS, MAX_HELD_OUTPUT_TOKENS } from './limits.ts'
import type { TextCallInput } from './types.ts'

/** Where the three wires let a caller bound the output. */
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
  const choices = countOf(body['n']) ?? 1
  const config = body['generationConfig'] ?? body['generation_config']
  const bound =
    BOUNDS.map((name) => countOf(body[name])).find((count) => count !== undefined) ??
    nativeBound(config) ??
    ASSUMED_OUTPUT_TOKENS
  return Math.min(bound * choices, MAX_HELD_OUTPUT_TOKENS)
}

function nativeBound(config: unknown): number | undefined {
  if (typeof config !== 'object' || config === null) return undefined
  if ('maxOutputTokens' in config) return countOf(config.maxOutputTokens)
  return 'max_output_tokens' in config ? countOf(config.max_output_tokens) : undefined
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
