import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'

/** Members of native bodies have two spellings: upstream's camel case, and snake case. */

/** Of an object whose other members are passed on. */
export const open = { additionalProperties: true }

/** `max_output_tokens` → `maxOutputTokens`; one at the beginning stays. */
function camelCase(name: string): string {
  return name.replace(/(?!^)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Both ways a name may be written. */
export function spellings(name: string): readonly string[] {
  return [camelCase(name), snakeCase(name)]
}

/**
 * The members of an object under their camel-case names, one level deep: callers may write either,
 * but not both of one name. @throws DomainError `invalid_request`
 */
export function camelMembers(object: JsonObject, at: string): JsonObject {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(object)) {
    const camel = camelCase(name)
    const path = at === '' ? name : `${at}.${name}`
    if (Object.hasOwn(renamed, camel)) refuse(path, `\`${path}\` is given twice`)
    renamed[camel] = value
  }
  return renamed
}
