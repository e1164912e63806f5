import { Buffer } from 'node:buffer'
import type { AsciiText } from '../../../kernel/ascii-text.ts'

/** Data URIs that are nothing but a media type and base64, and what they come to decoded. */

/** Text of a body; a long one may have been left as the bytes it came as. */
export type LongText = string | AsciiText

/** Longer than any head of a data URI that is taken. */
const MAX_HEAD_LENGTH = 128
const HEAD = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64$/
/** Characters read at once: whole groups of four. */
const CHUNK_CHARACTERS = 192 * 1024
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
  let decodedBytes = 0
  // What is read is thrown away: a copy of the whole would be as large as what it is checked for.
  const read = Buffer.allocUnsafe((CHUNK_CHARACTERS / 4) * 3)
  for (let at = from; at < length; at += CHUNK_CHARACTERS) {
    const chunk = uri.slice(at, Math.min(at + CHUNK_CHARACTERS, length))
    const expected = expectedBytes(chunk, at + CHUNK_CHARACTERS >= length)
    // The reader takes the URL alphabet as well, and leaves out what is no base64: that comes out short.
    if (chunk.includes('-') || chunk.includes('_')) return undefined
    if (read.write(chunk, 'base64') !== expected) return undefined
    decodedBytes += expected
  }
  return isCanonicalEnd(uri.slice(length - 4, length)) ? decodedBytes : undefined
}

/** What whole groups of four come to; only the last may end in padding. */
function expectedBytes(chunk: string, isLast: boolean): number {
  const padding = isLast ? (/={1,2}$/.exec(chunk.slice(-2))?.[0].length ?? 0) : 0
  return (chunk.length / 4) * 3 - padding
}

/** Bits of the last character that no byte is made of must not be set. */
function isCanonicalEnd(group: string): boolean {
  return Buffer.from(group, 'base64').toString('base64') === group
}
