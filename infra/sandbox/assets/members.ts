import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS } from '../kit/body.ts'

/** Reads members of a body, telling what is wrong with one as this wire does: by a code that names it. */

const DEFAULT_PROJECT = 'default'
const MAX_PROJECT_LENGTH = 64

/** The refusal of a member, which may be named by its path. */
export function invalid(name: string, why: string): Refusal {
  return new Refusal(`InvalidParameter.${name}`, `The parameter ${name} is not valid: ${why}.`)
}

function missing(name: string): Refusal {
  return new Refusal(`MissingParameter.${name}`, `The request is missing the parameter ${name}.`)
}

/** null counts as absent. */
function member(fields: Fields, path: string): unknown {
  const name = path.slice(path.lastIndexOf('.') + 1)
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined
}

/** The body as an object. @throws Refusal */
export function bodyOf(body: Buffer): Fields {
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = text === '' ? NO_FIELDS : JSON.parse(text)
  } catch {
    throw new Refusal('InvalidParameter', 'The request body is not valid JSON.')
  }
  if (!isFields(value))
    throw new Refusal('InvalidParameter', 'The request body must be a JSON object.')
  return value
}

/** A text of at most so many characters, or null. @throws Refusal */
export function textOf(fields: Fields, path: string, maxLength: number): string | null {
  const value = member(fields, path)
  if (value === undefined) return null
  if (typeof value !== 'string') throw invalid(path, 'it must be a string')
  if (Array.from(value).length > maxLength) throw invalid(path, `at most ${maxLength} characters`)
  return value
}

/** A text that must be there, and not be empty. @throws Refusal */
export function neededText(fields: Fields, path: string, maxLength: number): string {
  const value = textOf(fields, path, maxLength)
  if (value === null || value === '') throw missing(path)
  return value
}

/** One of some words, or null. @throws Refusal */
export function wordIn<Word extends string>(
  fields: Fields,
  path: string,
  words: readonly Word[],
): Word | null {
  const value = member(fields, path)
  if (value === undefined) return null
  const word = words.find((one) => one === value)
  if (word === undefined) throw invalid(path, `it must be one of ${words.join(', ')}`)
  return word
}

/** One of some words, which must be there. @throws Refusal */
export function neededWord<Word extends string>(
  fields: Fields,
  path: string,
  words: readonly Word[],
): Word {
  const word = wordIn(fields, path, words)
  if (word === null) throw missing(path)
  return word
}

/** A list of texts, at most so many, or null; an empty one counts as absent. @throws Refusal */
export function textsOf(fields: Fields, path: string, maxItems: number): readonly string[] | null {
  const value = member(fields, path)
  if (value === undefined) return null
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw invalid(path, 'it must be an array of strings')
  if (value.length > maxItems) throw invalid(path, `at most ${maxItems} items`)
  return value.length === 0 ? null : value
}

/** An integer within bounds. @throws Refusal */
export function integerOf(
  fields: Fields,
  path: string,
  { absent, min, max }: { readonly absent: number; readonly min: number; readonly max: number },
): number {
  const value = member(fields, path) ?? absent
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
    throw invalid(path, `it must be an integer from ${min} to ${max}`)
  return value
}

/** An object, or null. @throws Refusal */
export function objectOf(fields: Fields, path: string): Fields | null {
  const value = member(fields, path)
  if (value === undefined) return null
  if (!isFields(value)) throw invalid(path, 'it must be an object')
  return value
}

/** An object that must be there. @throws Refusal */
export function neededObject(fields: Fields, path: string): Fields {
  const value = objectOf(fields, path)
  if (value === null) throw missing(path)
  return value
}

/** The project a request is about. @throws Refusal */
export function projectOf(body: Fields): string {
  const name = textOf(body, 'ProjectName', MAX_PROJECT_LENGTH)
  return name === null || name === '' ? DEFAULT_PROJECT : name
}
