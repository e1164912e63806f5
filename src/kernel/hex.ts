import { Buffer } from 'node:buffer'
import type { RawString } from './raw-string.ts'
import type { Work } from './turns.ts'

const OTHER_CHARACTER = /[^0-9a-f]/i

/** Characters that are checked at either end. */
const END_LENGTH = 64

/**
 * Whether a text looks like whole bytes in hexadecimal. Only its ends are checked: a long text is
 * passed on unchanged, and checking all of it would take longer than everything else.
 */
export function looksLikeHex(text: string | RawString): boolean {
  const { length } = text
  const ends = text.slice(0, END_LENGTH) + text.slice(Math.max(0, length - END_LENGTH), length)
  return length > 0 && length % 2 === 0 && !OTHER_CHARACTER.test(ends)
}

/**
 * Whether a text is whole bytes in hexadecimal, read through: decoding stops silently at an invalid
 * digit.
 */
export function isHex(text: string): boolean {
  return text.length % 2 === 0 && !OTHER_CHARACTER.test(text)
}

/** Characters that are decoded in one part: an even number. */
const CHARACTERS_AT_ONCE = 64 * 1024

/** The bytes of a text in hexadecimal, decoded part by part; undefined for a text that is not whole bytes. */
export function* decodeHex(text: string | RawString): Work<Buffer | undefined> {
  if (text.length % 2 !== 0) return undefined
  const bytes = Buffer.allocUnsafe(text.length / 2)
  for (let at = 0; at < text.length; at += CHARACTERS_AT_ONCE) {
    const part = text.slice(at, at + CHARACTERS_AT_ONCE)
    // Writing stops at a character that is not a digit.
    if (bytes.write(part, at / 2, 'hex') * 2 !== part.length) return undefined
    yield
  }
  return bytes
}
