import { Type } from 'typebox'
import {
  memberOrUndefined,
  MAX_MODEL_CHARACTERS,
  objectAt,
  optionalObject,
  stringAt,
} from '../../../api/kit/bodies/member-checks.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { offeredToolNames, type TextWireRules, toolCharges } from '../rules/wire.ts'

/** Common parts of the bodies of chat and of responses. */

/** Members that are not described pass. */
export const open = { additionalProperties: true }
export const AnyObject = Type.Object({}, open)
export const Stream = Type.Boolean({ description: 'Server-sent events instead of one answer.' })

/** Members that official clients and compatible services send on both surfaces and no schema lists. */
export const extraMemberNames = `
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
export const TypedObject = Type.Object(
  { type: Name },
  { ...open, named: 'TypedObject', knownExtraFields: '*' },
)
/** Maximum number of output tokens of an answer. */
export const OutputBound = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const Temperature = Type.Number({ minimum: 0, maximum: 2, description: 'Default 1.' })
export const Choice = Type.Union([Type.String(), AnyObject])

/** Upstream checks other types. */
export const ResponseFormat = Type.Object(
  {
    type: Type.String({
      minLength: 1,
      description: '`text`, `json_object`, `json_schema` or another option.',
    }),
  },
  {
    named: 'ResponseFormat',
    ...open,
    knownExtraFields: 'json_schema name schema strict description grammar regex',
  },
)

/**
 * Checks that a `response_format` of `json_schema` has the schema's name, in the nested form of
 * chat or the flat form of responses. @throws DomainError `invalid_request`
 */
export function checkResponseFormat(format: JsonObject): void {
  if (format['type'] !== 'json_schema') return
  const nested = memberOrUndefined(format, 'json_schema')
  if (nested === undefined && memberOrUndefined(format, 'name') === undefined)
    refuse('response_format.json_schema', '`response_format.json_schema` is required')
  const at = nested === undefined ? 'response_format' : 'response_format.json_schema'
  const described = nested === undefined ? format : objectAt(nested, at)
  stringAt(described, 'name', `${at}.name`)
  optionalObject(described, 'schema', `${at}.schema`)
}

/** References and tools that are refused in text calls of any interface. */

/**
 * Refuses a content part that names a file kept upstream, flat or one level down: files are kept in
 * an account all tenants share and there is no way here to upload one, so none is the caller's (P8).
 * @throws DomainError `invalid_request`
 */
export function refuseFileId(part: JsonObject, at: string): void {
  const refuseIn = (holder: JsonObject, path: string): void => {
    if (memberOrUndefined(holder, 'file_id') === undefined) return
    refuse(
      `${path}.file_id`,
      `\`${path}.file_id\` is not offered: the gateway stores no files for this; send the file itself or its URL`,
    )
  }
  refuseIn(part, at)
  for (const [name, member] of Object.entries(part))
    if (isJsonObject(member)) refuseIn(member, `${at}.${name}`)
}

/** Refuses a tool that costs more than tokens and is not metered. @throws DomainError `invalid_request` */
export function refuseUnmetered(wire: TextWireRules, tool: JsonObject, at: string): void {
  const found = toolCharges(wire, tool).find(({ charge }) => charge === 'unmetered')
  if (found === undefined) return
  const path = `${at}.${found.member}`
  refuse(
    path,
    `\`${path}\` is not offered: this tool has no price; switch it off in your client, or leave it out; offered are ${offeredToolNames(wire).join(', ')}`,
  )
}
