/** Reading JSON of unknown shape. */

export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a JSON object, otherwise an empty one. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** The JSON objects in a list; an empty list for anything else. */
export function objectsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** A non-empty string, or undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A count: a non-negative safe integer; absent or null is zero, anything else undefined. */
export function countOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return 0
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Whether a count was given at all. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** A JSON object out of text, or undefined. */
export function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** UTF-8 bytes of a value if it is a string. */
export function bytesOf(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

/** How many alternatives a request asks for, by the member that says so. */
export function expectedChoices(value: unknown): number {
  const count = countOf(value)
  return count === undefined || count === 0 ? 1 : count
}
