import { notJson } from './json-place.ts'

/** Strings of JSON, processed in short pieces. */

/** Characters of a string that are read in one step. */
export const PIECE_CHARACTERS = 64 * 1024

const PLAIN = /^"[ -[\]-~]{0,12}"$/

/** Decodes the JSON of a string. @throws NotJson */
export function decoded(raw: string): string {
  // A part of this length is copied; a longer one would keep the whole text in memory.
  if (PLAIN.test(raw)) return raw.slice(1, -1)
  try {
    return String(JSON.parse(raw))
  } catch {
    return notJson()
  }
}

/** Number of backslashes that end at an index. */
function backslashesAt(text: string, at: number): number {
  let count = 0
  while (text.charCodeAt(at - count) === 0x5c) count += 1
  return count
}

/** Index of the quote that ends a string, or -1 if it is not among so many characters. */
export function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1 && end - from <= PIECE_CHARACTERS) {
    if (backslashesAt(text, end - 1) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}

/** The start of a string's inside, up to an escape that its end divides. */
export function undivided(piece: string): string {
  const last = piece.lastIndexOf('\\')
  const isWhole = last < piece.length - 6 || backslashesAt(piece, last) % 2 === 0
  return isWhole ? piece : piece.slice(0, last)
}
