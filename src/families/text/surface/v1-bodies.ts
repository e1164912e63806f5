import { Type } from 'typebox'
import { given, objectAt, optionalObject, stringAt } from '../../../api/kit/member-checks.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'

/** What the bodies of chat and of responses have in common. */

/** Members that are not described pass. */
export const open = { additionalProperties: true }
export const Anything = Type.Object({}, open)
export const ResponseFormat = Type.Object(
  { type: Type.String({ description: '`text`, `json_object`, `json_schema` or another option.' }) },
  open,
)
export const Stream = Type.Boolean({ description: 'Server-sent events instead of one answer.' })

/** Members that official clients and compatible services write in both, beside those of the schemas. */
export const anywhere = `
  top_p top_k top_a min_p typical_p seed stop stop_token_ids n best_of min_tokens
  frequency_penalty presence_penalty repetition_penalty length_penalty
  logit_bias logprobs top_logprobs
  user metadata store service_tier safety_identifier moderation speed
  prompt_cache_key prompt_cache_options prompt_cache_retention cache_control
  mode models provider route plugins transforms session_id extra_body
  thinking thinking_budget enable_thinking reasoning reasoning_effort verbosity
  parallel_tool_calls modalities audio response_format`

/** The same of `response_format`. */
export const ofFormat = 'json_schema name schema strict description grammar regex'

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
