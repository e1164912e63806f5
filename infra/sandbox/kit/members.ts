import type { Fields } from './body.ts'

/** How a wire refuses a member, and which texts it takes. */
export interface MemberRules {
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
