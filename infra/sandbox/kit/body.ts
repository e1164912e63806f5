import { isExactInteger, parseExactly } from '../../../src/kernel/exact-integers.ts'

/** A JSON object of unknown members. */
export type Fields = Readonly<Record<string, unknown>>

export const NO_FIELDS: Fields = {}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactInteger(value)
  )
}

/** The JSON objects in a value that should be a list of them; everything else is left out. */
export function objectsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** A member that is a text, or null. */
export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name]
  return typeof value === 'string' ? value : null
}

/** A member that is a number, or null. */
export function numberIn(fields: Fields, name: string): number | null {
  const value = fields[name]
  return typeof value === 'number' ? value : null
}

/** The value of a JSON text; undefined for none. */
function jsonOf(body: unknown): unknown {
  try {
    return parseExactly(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  } catch {
    return undefined
  }
}

/** A body as a JSON object, or null. */
export function jsonBody(body: unknown): Fields | null {
  const value = jsonOf(body)
  return isFields(value) ? value : null
}

/** A body as a JSON object. @throws what `refuse` makes for what is no JSON, or no object. */
export function objectBody(body: unknown, refuse: (isJson: boolean) => Error): Fields {
  const value = jsonOf(body)
  if (isFields(value)) return value
  throw refuse(value !== undefined)
}

/** A body of `multipart/form-data`, read whole. */
export interface ReadForm {
  readonly texts: ReadonlyMap<string, string>
  readonly files: readonly {
    readonly name: string
    readonly filename: string
    readonly type: string
    readonly bytes: Buffer
  }[]
}

/** Reads a form; null when it is none. */
export async function readForm(body: unknown, contentType: string): Promise<ReadForm | null> {
  if (!Buffer.isBuffer(body) || !contentType.startsWith('multipart/form-data')) return null
  try {
    const form = await new Response(body, { headers: { 'content-type': contentType } }).formData()
    const texts = new Map<string, string>()
    const files: { name: string; filename: string; type: string; bytes: Buffer }[] = []
    for (const [name, value] of form)
      if (typeof value === 'string') texts.set(name, value)
      else {
        const bytes = Buffer.from(await value.arrayBuffer())
        files.push({ name, filename: value.name, type: value.type, bytes })
      }
    return { texts, files }
  } catch {
    return null
  }
}

/** How a wire refuses a member, and which texts it takes. */
interface MemberRules {
  readonly invalid: (name: string, why: string) => Error
  /** The most characters of a text for which the reader names no bound. */
  readonly maxLength?: number
  readonly tooLong?: string
  /** A value that is no text is refused as an unknown word is: with the list of words. */
  readonly onlyWords?: true
}

/** Reads the members of a body, in the words that several wires share; null counts as absent. */
export class Members {
  readonly fields: Fields
  protected readonly rules: MemberRules

  constructor(fields: Fields, rules: MemberRules) {
    this.fields = fields
    this.rules = rules
  }

  /** A member of whatever type; undefined for none. */
  any(name: string): unknown {
    return Object.hasOwn(this.fields, name) ? (this.fields[name] ?? undefined) : undefined
  }

  /** At most so many characters, or null. */
  text(name: string, maxLength = this.rules.maxLength ?? Infinity): string | null {
    const value = this.any(name)
    if (value === undefined) return null
    if (typeof value !== 'string') throw this.invalid(name, 'it must be a string')
    if (maxLength !== Infinity && Array.from(value).length > maxLength)
      throw this.invalid(name, this.rules.tooLong ?? `at most ${maxLength} characters`)
    return value
  }

  /** One of some words, or null. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | null {
    const value = this.rules.onlyWords ? this.any(name) : this.text(name)
    if (value === undefined || value === null) return null
    const word = words.find((one) => one === value)
    if (word === undefined) throw this.invalid(name, `it must be one of ${words.join(', ')}`)
    return word
  }

  flag(name: string): boolean | null {
    const value = this.any(name)
    if (value === undefined) return null
    if (typeof value !== 'boolean') throw this.invalid(name, 'it must be a boolean')
    return value
  }

  integer(name: string, min: number, max: number): number | null {
    const value = this.any(name)
    if (value === undefined) return null
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
      throw this.invalid(name, `it must be an integer from ${min} to ${max}`)
    return value
  }

  /** The refusal of a member. */
  invalid(name: string, why: string): Error {
    return this.rules.invalid(name, why)
  }
}
