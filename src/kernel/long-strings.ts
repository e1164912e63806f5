import { Buffer, isAscii } from 'node:buffer'
import { RawString } from './raw-string.ts'
import { newUuid } from './ids.ts'

/** Shorter strings are parsed with the rest. */
const SHORTEST_RAW_BYTES = 32 * 1024
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = Buffer.from('"')
/**
 * Control characters that a broken encoder may leave in a text. Such a text is parsed, and so
 * refused.
 */
const CONTROLS = [0x00, 0x09, 0x0a, 0x0d]

/**
 * Placeholder in parsed JSON for a string that was left in place; random, so no caller can send it.
 */
const mark = `${newUuid()} `

export interface ParsedJson {
  /** Parsed, long strings replaced by marks. */
  readonly value: unknown
  /** The raw string for a mark; undefined for any other text. */
  readonly rawStringOf: (text: string) => RawString | undefined
}

interface KeepingOptions {
  readonly shortestBytes?: number
  /** Whether a long string stays raw, by its first bytes; without it all do. */
  readonly isWanted?: (start: Buffer) => boolean
}

/**
 * Parses JSON but keeps its long strings, such as media in base64, as the raw bytes: these are
 * never joined, decoded or encoded again. A string with an escape, or with more than ASCII, is
 * parsed.
 *
 * @throws SyntaxError
 */
export function parseJsonKeepingRaw(
  json: Buffer | readonly Buffer[],
  how: KeepingOptions = {},
): ParsedJson {
  const parser = new LongStringParser(how)
  for (const piece of Buffer.isBuffer(json) ? [json] : json) parser.feed(piece)
  const { rest, rawStringOf } = parser.end()
  return { value: JSON.parse(rest.toString('utf8')), rawStringOf }
}

/**
 * Takes the long strings out of JSON that arrives in pieces. It looks at each byte once, while the
 * byte is in the processor's cache.
 */
export class LongStringParser {
  readonly #shortestBytes: number
  readonly #isWanted: (start: Buffer) => boolean
  readonly #texts: RawString[] = []
  /** The parts to parse, in order. */
  readonly #rest: Buffer[] = []
  /** Earlier pieces of the open string; undefined outside of any. */
  #string: Buffer[] | undefined
  /** Number of backslashes at the end of the earlier pieces. */
  #backslashes = 0
  /** Whether these pieces can stay raw. */
  #plain = true

  constructor({ shortestBytes = SHORTEST_RAW_BYTES, isWanted = () => true }: KeepingOptions) {
    this.#shortestBytes = shortestBytes
    this.#isWanted = isWanted
  }

  feed(piece: Buffer): void {
    /** Before it everything is in `#rest`, kept raw, or part of the open string. */
    let from = 0
    let at = 0
    if (this.#string !== undefined) {
      const close = closingQuote(piece, 0, this.#backslashes)
      if (close === -1) return this.#goOn(this.#string, piece)
      const parts = [...this.#string, piece.subarray(0, close)]
      this.#string = undefined
      at = close + 1
      if (this.#plain && this.#keepRaw(parts)) from = at
      else {
        this.#rest.push(OPENING, ...parts)
        from = close
      }
    }
    for (let open = piece.indexOf(QUOTE, at); open !== -1; open = piece.indexOf(QUOTE, at)) {
      const close = closingQuote(piece, open + 1, 0)
      if (close === -1) {
        this.#rest.push(piece.subarray(from, open))
        this.#plain = true
        return this.#goOn([], piece.subarray(open + 1))
      }
      at = close + 1
      const before = this.#rest.length
      if (close - open <= this.#shortestBytes) continue
      this.#rest.push(piece.subarray(from, open))
      if (this.#keepRaw([piece.subarray(open + 1, close)])) from = at
      else this.#rest.length = before
    }
    this.#rest.push(piece.subarray(from))
  }

  /** Returns the remaining text to parse, with marks in place of the long strings. */
  end(): { readonly rest: Buffer } & Pick<ParsedJson, 'rawStringOf'> {
    if (this.#string !== undefined) this.#rest.push(OPENING, ...this.#string)
    const [only, ...more] = this.#rest
    const rest = more.length === 0 && only !== undefined ? only : Buffer.concat(this.#rest)
    return {
      rest,
      rawStringOf: (found) =>
        found.startsWith(mark) ? this.#texts[Number(found.slice(mark.length))] : undefined,
    }
  }

  #goOn(before: Buffer[], part: Buffer): void {
    let trailing = 0
    while (trailing < part.length && part[part.length - 1 - trailing] === BACKSLASH) trailing += 1
    const isAll = trailing === part.length && before.length > 0
    this.#backslashes = isAll ? this.#backslashes + trailing : trailing
    this.#plain &&= isPlain(part)
    before.push(part)
    this.#string = before
  }

  /**
   * Keeps a complete string raw and puts a mark in its place; false if the string must be parsed.
   */
  #keepRaw(parts: readonly Buffer[]): boolean {
    const [first] = parts
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    if (length < this.#shortestBytes || first === undefined || !this.#isWanted(first)) return false
    // The pieces before the last were checked when they arrived.
    if (!isPlain(parts.at(-1) ?? first)) return false
    this.#rest.push(Buffer.from(`"${mark}${this.#texts.length}"`))
    this.#texts.push(new RawString(...parts))
    return true
  }
}

function isPlain(text: Buffer): boolean {
  return (
    !text.includes(BACKSLASH) &&
    isAscii(text) &&
    !CONTROLS.some((control) => text.includes(control))
  )
}

/**
 * The index of the quote that ends a string; `before` is the number of backslashes right before the
 * piece.
 */
function closingQuote(piece: Buffer, from: number, before: number): number {
  let close = piece.indexOf(QUOTE, from)
  while (close !== -1) {
    let backslashes = 0
    while (close - backslashes > from && piece[close - 1 - backslashes] === BACKSLASH)
      backslashes += 1
    const carried = close - backslashes === from ? before : 0
    if ((backslashes + carried) % 2 === 0) return close
    close = piece.indexOf(QUOTE, close + 1)
  }
  return -1
}
