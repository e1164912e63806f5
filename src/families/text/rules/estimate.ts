import { noTextUsage, type TextUsage } from './usage.ts'

/**
 * Usage where a provider reports none (cut streams, vanished callers): settled from it, a line says
 * `estimated`. The arithmetic is plain on purpose, so that anybody can repeat it:
 *
 * - input: one token for every 4 bytes of text begun, and one for every 512 bytes of inline media
 * - output: one token for every 4 UTF-8 bytes begun of what the provider sent — text, reasoning and
 *   the names and arguments of tool calls
 * - caches and metered tools: none, because nothing says there were any
 */
const TEXT_BYTES_PER_TOKEN = 4
const MEDIA_BYTES_PER_TOKEN = 512

/** What went into a call. */
export interface InputSize {
  readonly characters: number
  readonly mediaBytes: number
  /** UTF-8 bytes of the text; where absent a character counts as a byte. */
  readonly textBytes?: number
  /** Tokens held for what is not in the request, or not known by its size; never estimated by. */
  readonly heldTokens?: number
}

/** Tokens the input is taken for. */
export function estimateInputTokens(size: InputSize): number {
  const textBytes = size.textBytes ?? size.characters
  return (
    Math.ceil(textBytes / TEXT_BYTES_PER_TOKEN) + Math.ceil(size.mediaBytes / MEDIA_BYTES_PER_TOKEN)
  )
}

/** Tokens held for the input: what it is taken for, and what stands elsewhere. */
export function heldInputTokens(size: InputSize): number {
  return Math.min(estimateInputTokens(size) + (size.heldTokens ?? 0), Number.MAX_SAFE_INTEGER)
}

/** Usage of a call whose provider reported none. */
export function estimateText(size: InputSize, outputBytes: number): TextUsage {
  return {
    ...noTextUsage,
    input: estimateInputTokens(size),
    output: Math.ceil(outputBytes / TEXT_BYTES_PER_TOKEN),
  }
}
