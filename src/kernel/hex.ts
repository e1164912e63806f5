import type { RawString } from './raw-string.ts'

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
