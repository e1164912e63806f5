import { refuse, text } from '../../../domain/catalog/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { checkPublicUrl, type ResolveHost, type UrlUse } from '../../../kernel/public-url.ts'

/** Checks of members anywhere in a body that is passed on: absent and null are both "not given". */

/** Longest model name that is looked up. */
export const MAX_MODEL_CHARACTERS = 256

/** An own member; null counts as absent. */
export function memberOrUndefined(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined
}

/** @throws DomainError `invalid_request` */
export function modelName(body: JsonObject): string {
  const model = memberOrUndefined(body, 'model')
  if (model === undefined) return refuse('model', '`model` is required')
  const name = text(model, 'model', MAX_MODEL_CHARACTERS)
  return name === '' ? refuse('model', '`model` must not be empty') : name
}

/** @throws DomainError `invalid_request` */
export function optionalObject(
  body: JsonObject,
  name: string,
  path = name,
): JsonObject | undefined {
  const value = memberOrUndefined(body, name)
  if (value === undefined) return undefined
  return isJsonObject(value) ? value : refuse(path, `\`${path}\` must be an object`)
}

/** @throws DomainError `invalid_request` */
export function optionalList(
  body: JsonObject,
  name: string,
  path = name,
): readonly unknown[] | undefined {
  const value = memberOrUndefined(body, name)
  if (value === undefined) return undefined
  return Array.isArray(value)
    ? (value as readonly unknown[])
    : refuse(path, `\`${path}\` must be an array`)
}

/** @throws DomainError `invalid_request` */
export function objectAt(value: unknown, path: string): JsonObject {
  return isJsonObject(value) ? value : refuse(path, `\`${path}\` must be an object`)
}

/** A non-empty string. @throws DomainError `invalid_request` */
export function stringAt(body: JsonObject, name: string, path: string): string {
  const value = memberOrUndefined(body, name)
  if (value === undefined) return refuse(path, `\`${path}\` is required`)
  if (typeof value !== 'string') return refuse(path, `\`${path}\` must be a string`)
  return value === '' ? refuse(path, `\`${path}\` must not be empty`) : value
}

/** The members but these. */
export function omitMembers(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))
}

/**
 * A URL of a request, in the form in which it was checked. By default upstream will call it.
 * @throws DomainError `invalid_request` naming the member
 */
export async function publicUrl(
  url: string,
  param: string,
  resolveHost: ResolveHost,
  use: UrlUse = 'call',
): Promise<string> {
  const verdict = await checkPublicUrl(url, resolveHost, { use })
  if (verdict.ok) return verdict.url
  throw new DomainError('invalid_request', `\`${param}\` ${verdict.reason}`, { param })
}
