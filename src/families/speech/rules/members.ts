import type { JsonObject } from '../../../kernel/json.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { oneOf, own, refuse, text } from '../../../domain/families/checks/fields.ts'

/** Members of a body and of its groups, refused by their paths; null is as good as nothing here. */
export class Members {
  readonly #body: JsonObject
  readonly #path: string

  constructor(body: JsonObject, path = '') {
    this.#body = body
    this.#path = path
  }

  /** As refusals name it. */
  at(name: string): string {
    return `${this.#path}${name}`
  }

  value(name: string): unknown {
    return own(this.#body, name) ?? undefined
  }

  /** An object within it; an empty one where there is none. @throws RequestError */
  group(name: string): Members {
    const value = this.value(name)
    if (value === undefined) return new Members({}, `${this.at(name)}.`)
    if (!isJsonObject(value)) return refuse(this.at(name), `\`${this.at(name)}\` must be an object`)
    return new Members(value, `${this.at(name)}.`)
  }

  /** @throws RequestError */
  text(name: string, maxCharacters: number): string | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : text(value, this.at(name), maxCharacters)
  }

  /** @throws RequestError */
  flag(name: string): boolean | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'boolean') return value
    return refuse(this.at(name), `\`${this.at(name)}\` must be true or false`)
  }

  /** @throws RequestError */
  choice<Choice extends string | number>(
    name: string,
    choices: readonly Choice[],
  ): Choice | undefined {
    const value = this.value(name)
    const choice = choices.find((candidate) => candidate === value)
    if (value === undefined || choice !== undefined) return choice
    return refuse(this.at(name), `\`${this.at(name)}\` must be ${oneOf(choices.map(String))}`)
  }

  /** @throws RequestError */
  number(
    name: string,
    range: {
      readonly min: number
      readonly max: number
      readonly integer?: true
      /** The least itself is too little. */
      readonly above?: true
    },
  ): number | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    const { min, max, integer, above } = range
    const fits =
      typeof value === 'number' &&
      (integer === true ? Number.isSafeInteger(value) : Number.isFinite(value)) &&
      (above === true ? value > min : value >= min) &&
      value <= max
    if (fits) return value
    const kind = integer === true ? 'an integer' : 'a number'
    const bounds = above === true ? `above ${min}, up to ${max}` : `from ${min} to ${max}`
    return refuse(this.at(name), `\`${this.at(name)}\` must be ${kind} ${bounds}`)
  }
}
