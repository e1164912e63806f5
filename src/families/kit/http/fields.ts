import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'

/** Reading JSON of unknown shape. */

const NOTHING: JsonObject = Object.freeze({})

/** The value if it is a JSON object, otherwise an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : NOTHING
}

/** The JSON objects in a list; an empty list for anything else. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** A non-empty string, or undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

const MAX_ID_LENGTH = 200

/**
 * An id of upstream's, or undefined: it becomes part of paths, events and rows, so it is bounded
 * and has visible ASCII only (Postgres accepts no NUL, and a URL no lone surrogate).
 */
export function upstreamIdOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH && /^[!-~]+$/.test(value)
    ? value
    : undefined
}

/** Codes are shown to callers and kept in the log: only texts in the form of a code pass. */
export function codeOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z][\w.-]{0,119}$/.test(value) ? value : undefined
}

/** Whether a figure was given at all. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/**
 * A count whose absence means zero: absent or null is 0; undefined for any other value that is no
 * count.
 */
export function countOrZero(value: unknown): number | undefined {
  return isGiven(value) ? countOf(value) : 0
}

/** A count that may come as digits, as lossless parsing leaves it. */
export function losslessCount(value: unknown): number | undefined {
  return countOf(typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value)
}

/**
 * Seconds that are billed as whole ones, rounded half up: what services measure may be a fraction off
 * the length that was asked for.
 */
export function losslessSeconds(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? countOf(Math.round(value)) : losslessCount(value)
}

/** The parsed JSON, or undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A JSON object out of text, or undefined. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) ? value : undefined
}
