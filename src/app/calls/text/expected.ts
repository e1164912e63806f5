import { estimateInputTokens } from '../../../domain/call/estimate.ts'
import { isJsonObject } from '../../../domain/families/checks/fields.ts'
import type { TextQuote } from '../../../domain/families/text/pricing.ts'
import { holdText } from '../../../domain/families/text/pricing.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Channel } from '../../ports.ts'
import { ASSUMED_OUTPUT_TOKENS } from '../limits.ts'
import type { TextCallInput } from '../types.ts'

/** Where chat and responses let a caller bound the output; the native wire nests it. */
const BOUNDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const

/**
 * What a call may cost on any of these channels, in pico: its hold. The output is bounded by what the
 * caller says and by what the model can do, so only the input is an estimate.
 */
export function expectedPico(
  quote: TextQuote,
  input: TextCallInput,
  channels: readonly Channel[],
): bigint {
  return holdText(quote, {
    inputTokens: estimateInputTokens(input.inputSize),
    outputTokens: outputTokens(input.body, largestOutput(channels, input.model)),
  })
}

/** Tokens a call is expected to use, in and out. */
export function expectedTokens(input: TextCallInput): number {
  const { body, inputSize } = input
  const output = outputTokens(body, boundOf(body) ?? ASSUMED_OUTPUT_TOKENS)
  return estimateInputTokens(inputSize) + output
}

function largestOutput(channels: readonly Channel[], model: string): number {
  const known = channels.map(({ largestOutputTokens }) => largestOutputTokens?.[model])
  // The channel file is refused without it.
  invariant(!known.includes(undefined) && known.length > 0, `${model} has no largest output`)
  return Math.max(...known.map((tokens) => tokens ?? 0))
}

/** Of all the answers a call asks for, each at most `largest`. */
function outputTokens(body: TextCallInput['body'], largest: number): number {
  const answers = countOf(body['n']) ?? countOf(nativeConfig(body)['candidateCount']) ?? 1
  const each = Math.min(boundOf(body) ?? largest, largest)
  return Math.min(each * answers, Number.MAX_SAFE_INTEGER)
}

/** The most tokens of one answer, as the caller says. */
function boundOf(body: TextCallInput['body']): number | undefined {
  return (
    BOUNDS.map((name) => countOf(body[name])).find((count) => count !== undefined) ??
    countOf(nativeConfig(body)['maxOutputTokens'])
  )
}

function nativeConfig(body: TextCallInput['body']): Readonly<Record<string, unknown>> {
  const config = body['generationConfig']
  return isJsonObject(config) ? config : {}
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
