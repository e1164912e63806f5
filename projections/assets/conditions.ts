import { storable } from '../engine/array-literals.ts'

/** Conditions and the parameters of their statement as they are collected. */
export class Conditions {
  readonly values: unknown[]
  readonly #conditions: string[]

  constructor(conditions: readonly string[] = [], values: unknown[] = []) {
    this.#conditions = [...conditions]
    this.values = values
  }

  /** Adds conditions that share the values of the same statement. */
  beside(...conditions: readonly string[]): Conditions {
    return new Conditions(conditions, this.values)
  }

  /** The placeholder of a value. */
  add(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** A column is this; undefined does not narrow. */
  is(column: string, value: string | undefined): this {
    // A value that Postgres cannot hold is in no row either.
    if (value !== undefined) this.#conditions.push(`${column} = ${this.add(storable(value))}`)
    return this
  }

  /** A column is one of these; undefined does not narrow. */
  isOneOf(column: string, values: readonly string[] | undefined): this {
    if (values === undefined) return this
    const placeholder = this.add([...new Set(values.map(storable))])
    this.#conditions.push(`${column} = any(${placeholder}::text[])`)
    return this
  }

  /** A text comes before this one; undefined does not narrow. */
  isBefore(column: string, value: string | undefined): this {
    if (value !== undefined) this.#conditions.push(`${column} < ${this.add(storable(value))}`)
    return this
  }

  /** A text begins with this: a range of bytes, which an index finds without reading each row. */
  beginsWith(column: string, prefix: string | undefined): this {
    if (prefix === undefined || prefix === '') return this
    const from = storable(prefix)
    this.#conditions.push(`${column} ~>=~ ${this.add(from)}`)
    const after = nextPrefix(from)
    if (after !== undefined) this.#conditions.push(`${column} ~<~ ${this.add(after)}`)
    return this
  }

  /** The conditions as the end of a `where`. */
  get sql(): string {
    return this.#conditions.length === 0 ? 'true' : this.#conditions.join(' and ')
  }
}

const LAST_CODE_POINT = 0x10ffff

/** The least text after all that begin so: bytes of UTF-8 are in the order of code points. */
function nextPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (point) => point.codePointAt(0) ?? 0)
  const last = points.findLastIndex((point) => point < LAST_CODE_POINT)
  const point = points[last]
  if (point === undefined) return undefined
  // Between these there are only halves of pairs.
  const next = point === 0xd7ff ? 0xe000 : point + 1
  return String.fromCodePoint(...points.slice(0, last), next)
}
