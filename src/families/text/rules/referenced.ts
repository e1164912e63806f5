/**
 * Input that is not in the request itself: upstream keeps or fetches it, and what it counts there is
 * known only afterwards. A hold counts these figures for it; what is settled never follows from them.
 */

/** Kinds of media that may be named by an address. */
export type Medium = 'image' | 'audio' | 'video' | 'document'

/** Tokens of an image by the level of detail that is asked for, in words of any wire. */
const IMAGE_TOKENS: readonly (readonly [level: RegExp, tokens: number])[] = [
  [/original|ultra/i, 12_000],
  [/low/i, 512],
]
/** Levels that are not named, `auto`, `medium` and `high` among them. */
const USUAL_IMAGE_TOKENS = 3_000

/** An hour of sound, twenty minutes of film, some hundred pages. */
const FILE_TOKENS: Readonly<Record<Exclude<Medium, 'image'>, number>> = {
  audio: 120_000,
  video: 300_000,
  document: 64_000,
}

/** Tokens held for one image or one file that upstream fetches. */
export function mediumTokens(medium: Medium, detail?: string): number {
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
