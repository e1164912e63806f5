/** Tokens as they are priced. Cached and cache-write tokens are not part of `input`. */
export const tokenUnits = [
  'input',
  'cached-input',
  'cache-write-5m',
  'cache-write-1h',
  'output',
] as const
export type TokenUnit = (typeof tokenUnits)[number]

/** Counts of a provider's own tools, by the SKU they are priced as. */
export const toolUnits = [
  'web-search-call',
  'code-interpreter-session',
  'file-search-call',
] as const
export type ToolUnit = (typeof toolUnits)[number]

/**
 * Usage of a text call, by billing unit. Adapters subtract cached and cache-write tokens from the
 * provider's total. An explicit zero stays zero.
 */
export type TextUsage = Readonly<Record<TokenUnit | ToolUnit, number>>

/** Tokens of input and output, including those of caches. */
export function totalTokens(usage: TextUsage): number {
  return tokenUnits.reduce((sum, unit) => sum + usage[unit], 0)
}

export const noTextUsage: TextUsage = {
  input: 0,
  'cached-input': 0,
  'cache-write-5m': 0,
  'cache-write-1h': 0,
  output: 0,
  'web-search-call': 0,
  'code-interpreter-session': 0,
  'file-search-call': 0,
}

/**
 * Estimated usage if a provider reports none (cut streams, disconnected callers): lines settled
 * from it are marked `estimated`. The arithmetic is simple on purpose, so that a caller can repeat
 * it:
 *
 * - input: one token for every 4 bytes of text begun, and one for every 512 bytes of inline media
 * - output: one token for every 4 UTF-8 bytes begun of what the provider sent — text, reasoning and
 *   the names and arguments of tool calls
 * - caches and metered tools: none, because nothing says there were any
 */
const TEXT_BYTES_PER_TOKEN = 4
const MEDIA_BYTES_PER_TOKEN = 512

/** The input of a call. */
export interface InputSize {
  readonly characters: number
  readonly mediaBytes: number
  /** UTF-8 bytes of the text; if absent, a character counts as a byte. */
  readonly textBytes?: number
  /**
   * Tokens held for input outside of the request, or of unknown size; estimates do not use them.
   */
  readonly heldTokens?: number
}

/** Tokens the input is taken for. */
export function estimateInputTokens(size: InputSize): number {
  const textBytes = size.textBytes ?? size.characters
  return (
    Math.ceil(textBytes / TEXT_BYTES_PER_TOKEN) + Math.ceil(size.mediaBytes / MEDIA_BYTES_PER_TOKEN)
  )
}

/** Tokens held for the input: the estimate, and the tokens of input outside of the request. */
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

/**
 * Input that is not in the request itself: upstream keeps or fetches it, and its tokens are known
 * only afterwards. A hold counts these figures for it; settlement never uses them.
 */

/** Kinds of media that may be given by URL. */
export type LinkedMediaKind = 'image' | 'audio' | 'video' | 'document'

/** The level of detail at which an image takes most tokens. */
export const LARGEST_IMAGE = 'original'
/** Tokens of an image by the requested level of detail, in the words of any wire. */
const IMAGE_TOKENS: readonly (readonly [level: RegExp, tokens: number])[] = [
  [/original|ultra/i, 12_000],
  [/low/i, 512],
]
/** All other levels, including `auto`, `medium` and `high`. */
const USUAL_IMAGE_TOKENS = 3_000

/** An hour of sound, twenty minutes of film, some hundred pages. */
const FILE_TOKENS: Readonly<Record<Exclude<LinkedMediaKind, 'image'>, number>> = {
  audio: 120_000,
  video: 300_000,
  document: 64_000,
}

/** Tokens held for one image or one file that upstream fetches. */
export function mediumTokens(medium: LinkedMediaKind, detail?: string): number {
  if (medium !== 'image') return FILE_TOKENS[medium]
  return (
    IMAGE_TOKENS.find(([level]) => detail !== undefined && level.test(detail))?.[1] ??
    USUAL_IMAGE_TOKENS
  )
}

/**
 * No model takes a longer conversation. Held for one that is continued and whose length is not known;
 * a bound on its length is never more.
 */
export const LARGEST_CONVERSATION_TOKENS = 1_048_576
