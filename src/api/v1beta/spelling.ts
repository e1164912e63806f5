import { refuse } from '../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../kernel/json.ts'

/** `max_output_tokens` → `maxOutputTokens`; a name without underscores is what it was. */
function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
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
