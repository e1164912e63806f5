import type { AsciiText } from './ascii-text.ts'

/** Characters that tell what the rest is, at either end. */
const END_LENGTH = 64

/**
 * Whether a text is whole bytes in hexadecimal, as far as its ends tell: a long one is handed on as it
 * came, and reading it through would take longer than all the rest.
 */
export function looksLikeHex(text: string | AsciiText): boolean {
  const { length } = text
  const ends = text.slice(0, END_LENGTH) + text.slice(Math.max(0, length - END_LENGTH), length)
  return length % 2 === 0 && /^[0-9a-f]+$/i.test(ends)
}

/** Whether a text is whole bytes in hexadecimal, read through: decoding ends without a word at what is no digit. */
export function isHex(text: string): boolean {
  return text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text)
}
