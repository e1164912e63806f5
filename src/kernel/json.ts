import { isExactInteger } from './exact-integers.ts'

/** A parsed JSON value. */

export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object: not an array, not null, not an integer that is kept exactly. */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactInteger(value)
  )
}

/** The members that are present: undefined counts as absent, null does not. */
export function membersGiven<Value>(
  members: Readonly<Record<string, Value | undefined>>,
): Readonly<Record<string, Value>> {
  const given = Object.entries(members).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return Object.fromEntries(given)
}

/** The given members of an object, as far as they are present. */
export function pickMembers<Body extends object, Name extends keyof Body>(
  body: Body,
  names: readonly Name[],
): Partial<Pick<Body, Name>> {
  const picked: Partial<Pick<Body, Name>> = {}
  for (const name of names) if (body[name] !== undefined) picked[name] = body[name]
  return picked
}

/** A count: a safe integer that is not negative; undefined for anything else. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
