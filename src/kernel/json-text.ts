import { Buffer } from 'node:buffer'
import { invariant } from './assert.ts'

/** The place of a member's value in a text; blanks may stand before the value. */
export interface Span {
  readonly from: number
  /** The index after its last character. */
  readonly to: number
}

/** JSON in parts, which are not joined where they are long. */
export class JsonParts {
  readonly parts: readonly string[]
  /** Length of the UTF-8 of all parts. */
  readonly lengthBytes: number

  constructor(parts: readonly string[], lengthBytes: number) {
    this.parts = parts
    this.lengthBytes = lengthBytes
  }
}

/**
 * The text of an object as its author wrote it. A parsed value loses the order of members whose names
 * are numbers, how numbers are written, digits beyond 2^53 and escapes.
 */
export class JsonText {
  readonly #text: string
  readonly #lengthBytes: number
  readonly #spans: ReadonlyMap<string, Span>

  /**
   * @param text valid JSON, in which no name stands twice
   * @param lengthBytes of its UTF-8
   * @param spans of the members of the object, by their names
   */
  constructor(text: string, lengthBytes: number, spans: ReadonlyMap<string, Span>) {
    this.#text = text
    this.#lengthBytes = lengthBytes
    this.#spans = spans
  }

  /**
   * The text with these values of its members; every other byte stays, and so does a value that is
   * the same, however it is written. The object must have the members.
   */
  with(values: Readonly<Record<string, string | number>>): JsonParts {
    const replaced = Object.entries(values)
      .map(([name, value]) => this.#replacement(name, value))
      .toSorted((one, other) => one.from - other.from)
    const parts: string[] = []
    let lengthBytes = this.#lengthBytes
    let at = 0
    for (const { from, before, after } of replaced) {
      parts.push(this.#text.slice(at, from), after)
      lengthBytes += Buffer.byteLength(after) - Buffer.byteLength(before)
      at = from + before.length
    }
    parts.push(this.#text.slice(at))
    return new JsonParts(parts, lengthBytes)
  }

  #replacement(name: string, value: string | number) {
    const span = this.#spans.get(name)
    invariant(span !== undefined, `a body is sent as it came, and has no ${name} to replace`)
    const before = this.#text.slice(span.from, span.to).trimStart()
    const after = JSON.parse(before) === value ? before : JSON.stringify(value)
    return { from: span.to - before.length, before, after }
  }
}
