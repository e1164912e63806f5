import { Type } from 'typebox'
import {
  given,
  MAX_MODEL_CHARACTERS,
  objectAt,
  optionalObject,
  stringAt,
} from '../../../api/kit/member-checks.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'

/** What the bodies of chat and of responses have in common. */

/** Members that are not described pass. */
export const open = { additionalProperties: true }
export const Anything = Type.Object({}, open)
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

/** A name that says which of several things an object is. */
export const Name = Type.String({ minLength: 1 })
/** Text models of channels have names as long as they like, within this. */
export const ModelName = Type.String({ minLength: 1, maxLength: MAX_MODEL_CHARACTERS })
/** An object that is passed on, whatever else it has. */
export const Typed = Type.Object({ type: Name }, { ...open, knownExtraFields: '*' })
export const Temperature = Type.Number({ minimum: 0, maximum: 2, description: 'Default 1.' })
export const Choice = Type.Union([Type.String(), Anything])

/** Other types are upstream's to judge. */
export const ResponseFormat = Type.Object(
  {
    type: Type.String({
      minLength: 1,
      description: '`text`, `json_object`, `json_schema` or another option.',
    }),
  },
  { ...open, knownExtraFields: 'json_schema name schema strict description grammar regex' },
)

/**
 * Checks a `response_format` of `json_schema`: it has the schema's name, where it stands nested as chat
 * writes it or flat as responses does. @throws DomainError `invalid_request`
 */
export function checkResponseFormat(format: JsonObject): void {
  if (format['type'] !== 'json_schema') return
  const nested = given(format, 'json_schema')
  if (nested === undefined && given(format, 'name') === undefined)
    refuse('response_format.json_schema', '`response_format.json_schema` is required')
  const at = nested === undefined ? 'response_format' : 'response_format.json_schema'
  const described = nested === undefined ? format : objectAt(nested, at)
  stringAt(described, 'name', `${at}.name`)
  optionalObject(described, 'schema', `${at}.schema`)
}
