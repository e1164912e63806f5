import { refuse } from '../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../kernel/json.ts'
import { given, objectAt, optionalObject, stringAt } from '../kit/member-checks.ts'

/**
 * Checks `response_format`: an object with a `type`; of `json_schema` the schema's
 * name, where it stands nested as chat writes it or flat as responses does. Other types are
 * upstream's to judge.
 */
export function responseFormat(body: JsonObject): JsonObject | undefined {
  const format = optionalObject(body, 'response_format')
  if (format === undefined) return undefined
  const type = stringAt(format, 'type', 'response_format.type')
  if (type !== 'json_schema') return format
  const nested = given(format, 'json_schema')
  if (nested === undefined && given(format, 'name') === undefined)
    return refuse('response_format.json_schema', '`response_format.json_schema` is required')
  const at = nested === undefined ? 'response_format' : 'response_format.json_schema'
  const described = nested === undefined ? format : objectAt(nested, at)
  stringAt(described, 'name', `${at}.name`)
  const schema = given(described, 'schema')
  if (schema !== undefined) objectAt(schema, `${at}.schema`)
  return format
}
