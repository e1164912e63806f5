import { NotVerifiedError, shownText } from './not-verified.ts'

/**
 * JSON that two readers cannot understand differently: no member twice, no numbers but integers that a double holds, and
 * no more depth than is needed.
 */

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

const MAX_DEPTH = 8
const CONTROL_CHARACTERS = 0x20
const BACKSLASH = 0x5c
const QUOTE = 0x22
/** More than any integer has that a double holds. */
const MAX_NUMBER_CHARACTERS = 32

/** @throws NotVerifiedError naming line and column */
export function parseStrictJson(text: string): JsonValue {
  const parser = new Parser(text)
  const value = parser.value(0)
  parser.end()
  return value
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  #refuse(what: string, at = this.#at): never {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    throw new NotVerifiedError(`line ${line}, column ${at - before.lastIndexOf('\n')}: ${what}`)
  }

  /** The next character that is no blank; empty at the end. */
  #next(): string {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '.')) this.#at += 1
    return this.#text[this.#at] ?? ''
  }

  #take(character: string): boolean {
    const isNext = this.#next() === character
    if (isNext) this.#at += 1
    return isNext
  }

  end(): void {
    if (this.#next() !== '') this.#refuse('something follows the JSON')
  }

  value(depth: number): JsonValue {
    const first = this.#next()
    if (depth > MAX_DEPTH) this.#refuse(`arrays and objects are more than ${MAX_DEPTH} deep`)
    if (first === '"') return this.#string()
    if (this.#take('[')) return this.#array(depth)
    if (this.#take('{')) return this.#object(depth)
    for (const [word, value] of [
      ['null', null],
      ['true', true],
      ['false', false],
    ] as const)
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return value
      }
    return this.#integer()
  }

  #integer(): number {
    const ahead = this.#text.slice(this.#at, this.#at + MAX_NUMBER_CHARACTERS)
    const [written] = /^[-+.\dEe]+/.exec(ahead) ?? []
    if (written === undefined) this.#refuse('the text is not JSON')
    const value = Number(written)
    if (!Number.isSafeInteger(value) || String(value) !== written)
      this.#refuse(`${written} is no integer within ±(2^53 − 1)`)
    this.#at += written.length
    return value
  }

  #string(): string {
    const from = this.#at
    for (let at = from + 1; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at)
      if (code < CONTROL_CHARACTERS) this.#refuse('a control character is in a string', at)
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) {
        this.#at = at + 1
        return this.#unescaped(this.#text.slice(from, at + 1), from)
      }
    }
    return this.#refuse('a string does not end', from)
  }

  #unescaped(quoted: string, from: number): string {
    try {
      return String(JSON.parse(quoted))
    } catch {
      return this.#refuse('an escape in a string is wrong', from)
    }
  }

  #array(depth: number): readonly JsonValue[] {
    const items: JsonValue[] = []
    if (this.#take(']')) return items
    do items.push(this.value(depth + 1))
    while (this.#take(','))
    if (!this.#take(']')) this.#refuse('an array does not end')
    return items
  }

  #object(depth: number): JsonValue {
    const members = new Map<string, JsonValue>()
    if (this.#take('}')) return {}
    do {
      if (this.#next() !== '"') this.#refuse('a member has no name')
      const from = this.#at
      const name = this.#string()
      if (members.has(name)) this.#refuse(`the member ${shownText(name)} is there twice`, from)
      if (!this.#take(':')) this.#refuse(`the member ${shownText(name)} has no value`)
      members.set(name, this.value(depth + 1))
    } while (this.#take(','))
    if (!this.#take('}')) this.#refuse('an object does not end')
    return Object.fromEntries(members)
  }
}
