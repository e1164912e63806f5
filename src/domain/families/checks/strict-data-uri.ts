import type { AsciiText } from '../../../kernel/ascii-text.ts'

/** Data URIs that are nothing but a media type and base64, and what they come to decoded. */

/** Text of a body; a long one may have been left as the bytes it came as. */
export type LongText = string | AsciiText

/** Longer than any head of a data URI that is taken. */
const MAX_HEAD_LENGTH = 128
const HEAD = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64$/
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PAD = '='.charCodeAt(0)
const NOT_IN_ALPHABET = 0xff

const valueOf = new Uint8Array(256).fill(NOT_IN_ALPHABET)
for (let value = 0; value < ALPHABET.length; value += 1) valueOf[ALPHABET.charCodeAt(value)] = value

export interface StrictDataUri {
  /** In small letters. */
  readonly mediaType: string
  readonly decodedBytes: number
}

/**
 * `data:<type>;base64,<payload>` without a blank or a parameter, its payload whole and in the one way
 * there is to write it; undefined for any other text.
 */
export function readStrictDataUri(uri: LongText): StrictDataUri | undefined {
  const start = uri.slice(0, MAX_HEAD_LENGTH)
  const comma = start.indexOf(',')
  const mediaType = HEAD.exec(start.slice(0, Math.max(0, comma)))?.[1]
  const decodedBytes = mediaType === undefined ? undefined : decodedLength(uri, comma + 1)
  return mediaType === undefined || decodedBytes === undefined
    ? undefined
    : { mediaType, decodedBytes }
}

/** Bytes of the base64 from an index on; undefined when it is empty or not strictly base64. */
function decodedLength(uri: LongText, from: number): number | undefined {
  const { length } = uri
  if (length === from || (length - from) % 4 !== 0) return undefined
  const last = uri.slice(length - 3, length)
  const padding = last.endsWith('==') ? 2 : last.endsWith('=') ? 1 : 0
  const end = length - padding
  if (!isAlphabet(uri, from, end)) return undefined
  // Bits of the last character that no byte is made of.
  const spare = valueOf[uri.slice(end - 1, end).charCodeAt(0)] ?? 0
  if ((spare & ((1 << (2 * padding)) - 1)) !== 0) return undefined
  return ((length - from) / 4) * 3 - padding
}

/** A loop over tens of millions of characters: a copy or a call for each would cost more than it. */
function isAlphabet(uri: LongText, from: number, end: number): boolean {
  if (typeof uri === 'string') {
    for (let at = from; at < end; at += 1)
      if ((valueOf[uri.charCodeAt(at)] ?? NOT_IN_ALPHABET) === NOT_IN_ALPHABET) return false
    return true
  }
  const { bytes } = uri
  for (let at = from; at < end; at += 1)
    if (valueOf[bytes[at] ?? PAD] === NOT_IN_ALPHABET) return false
  return true
}
