import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { textFault } from '../../../kernel/storable-text.ts'

/** Checks of single fields of a caller's JSON body: no coercion. */

type RequestErrorCode = 'invalid_request' | 'invalid_duration'

/** Refuses a field by its path, e.g. `content[1].image_url.url`. @throws DomainError always */
export function refuse(
  param: string,
  message: string,
  code: RequestErrorCode = 'invalid_request',
): never {
  throw new DomainError(code, message, { param })
}

/** An own member, or undefined: `__proto__`, `constructor` and the like are never read. */
export function own(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined
}

/** @throws DomainError when present and not one of the choices */
export function optionalChoice<Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
  forWhom = '',
): Choice | undefined {
  const value = own(body, name)
  if (value === undefined) return undefined
  const choice = choices.find((candidate) => candidate === value)
  if (choice !== undefined) return choice
  return refuse(name, `\`${name}\` must be ${oneOf(choices)}${forWhom}`)
}

/** Choices in words. */
function oneOf(choices: readonly string[]): string {
  return `${choices.length > 1 ? 'one of ' : ''}${choices.join(', ')}`
}

/** @throws DomainError when not a string, too long, or not well-formed Unicode without NUL */
export function text(value: unknown, param: string, maxCharacters: number): string {
  if (typeof value !== 'string') return refuse(param, `\`${param}\` must be a string`)
  const fault = textFault(value, maxCharacters)
  return fault === undefined ? value : refuse(param, `\`${param}\` ${fault}`)
}

/** Whether a member of another family requests only the default behaviour of this family. */
export function asksForNothing(name: string, value: unknown): boolean {
  if (name === 'sequential_image_generation') return value === 'disabled' || value === null
  return value === null || value === false || value === 'auto'
}
