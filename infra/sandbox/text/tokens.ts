/** Tokens of a text: one for every four bytes of its UTF-8 begun. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** Tokens every message costs besides its text. */
export const MESSAGE_TOKENS = 4

/** Kinds of input that are no text. */
export type Medium = 'IMAGE' | 'AUDIO' | 'VIDEO' | 'DOCUMENT'

/** Tokens of one input of a kind, whatever its size. */
export const MEDIUM_TOKENS: Readonly<Record<Medium, number>> = {
  IMAGE: 258,
  AUDIO: 320,
  VIDEO: 2580,
  DOCUMENT: 516,
}

/** Tokens a call of a built-in tool adds to the input of the native wire. */
export const TOOL_PROMPT_TOKENS = 50

/** The kind of input a media type is. */
export function mediumOf(mediaType: string): Medium {
  if (mediaType.startsWith('image/')) return 'IMAGE'
  if (mediaType.startsWith('audio/')) return 'AUDIO'
  return mediaType.startsWith('video/') ? 'VIDEO' : 'DOCUMENT'
}
