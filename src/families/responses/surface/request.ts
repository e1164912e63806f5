import { Type } from 'typebox'
import {
  memberOrUndefined,
  objectAt,
  stringAt,
  omitMembers,
} from '../../../api/kit/bodies/member-checks.ts'
import { own, refuse } from '../../../domain/catalog/checks/fields.ts'
import { readBody, RefusedMember } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import {
  AnyObject,
  extraMemberNames,
  checkResponseFormat,
  Choice,
  ModelName,
  Name,
  open,
  OutputBound,
  refuseFileId,
  ResponseFormat,
  Stream,
  Temperature,
  TypedObject,
} from '../../text/surface/bodies.ts'
import { checkTool } from './tools.ts'

/**
 * The body of a response, written the way upstream reads it. Members that it does not describe are
 * passed on unchanged.
 */

const Item = Type.Object({ type: Type.Optional(Type.String()) }, { ...open, knownExtraFields: '*' })

const Tool = Type.Object(
  {
    type: Name,
    vector_store_ids: Type.Optional(
      Type.Array(Type.Unknown(), {
        check: (ids: readonly unknown[]) =>
          ids.every((id) => typeof id === 'string') ? undefined : 'must be an array of strings',
      }),
    ),
  },
  { ...open, knownExtraFields: '*', documented: TypedObject },
)

export const ResponsesBodySchema = Type.Object(
  {
    model: ModelName,
    input: Type.Union([Type.String(), Type.Array(Item)], {
      words: 'must be a string or an array of items',
      description: 'Text, or items of `role` and `content`.',
    }),
    response_format: Type.Optional(ResponseFormat),
    previous_response_id: Type.Optional(
      Type.String({ description: '`id` of an earlier answer to the same tenant.' }),
    ),
    conversation: RefusedMember(
      'is not offered: continue with `previous_response_id`, or send the turns in `input`',
    ),
    prompt: RefusedMember('is not offered: write its text into `instructions` or `input`'),
    temperature: Type.Optional(Temperature),
    stream: Type.Optional(Stream),
    max_output_tokens: Type.Optional(OutputBound),
    max_tool_calls: Type.Optional(OutputBound),
    // The usage would be known only later, and the gateway has no route for the result.
    background: Type.Optional(
      Type.Boolean({
        check: (value: unknown) => (value === true ? 'must not be true' : undefined),
      }),
    ),
    tools: Type.Optional(Type.Array(Tool)),
    tool_choice: Type.Optional(Choice),
    text: Type.Optional(AnyObject),
  },
  {
    named: 'ResponseRequest',
    ...open,
    description:
      'Other members are passed on, except those that change the price or the model. `background` must not be true; `conversation`, `prompt` and a `file_id` are refused.',
    examples: [
      {
        model: 'text-basic',
        input: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      },
    ],
    knownExtraFields: `${extraMemberNames}
      instructions include truncation messages
      context_management stream_options`,
  },
)

function textPart(part: JsonObject, type: string, at: string): JsonObject {
  if (typeof memberOrUndefined(part, 'text') !== 'string')
    return refuse(`${at}.text`, `\`${at}.text\` must be a string`)
  return { ...part, type }
}

/** `{image_url}` or `{url}`, as a string or as chat's `{url, detail}`. */
function imagePart(part: JsonObject, at: string): JsonObject {
  const rest = omitMembers(part, ['image_url', 'url'])
  const source = memberOrUndefined(part, 'image_url') ?? memberOrUndefined(part, 'url')
  if (source === undefined) return refuse(`${at}.image_url`, `\`${at}.image_url\` is required`)
  if (typeof source === 'string') return { ...rest, type: 'input_image', image_url: source }
  const chat = objectAt(source, `${at}.image_url`)
  const url = stringAt(chat, 'url', `${at}.image_url.url`)
  return { ...omitMembers(chat, ['url']), ...rest, type: 'input_image', image_url: url }
}

/** A file by `file_url` or `file_data`, flat or within `file`. */
function filePart(part: JsonObject, at: string): JsonObject {
  const nested = memberOrUndefined(part, 'file')
  const flat = isJsonObject(nested) ? { ...omitMembers(part, ['file']), ...nested } : part
  const url = memberOrUndefined(flat, 'url')
  const named = url === undefined ? flat : { ...omitMembers(flat, ['url']), file_url: url }
  const references = ['file_url', 'file_data']
  if (!references.some((name) => typeof memberOrUndefined(named, name) === 'string'))
    return refuse(at, `\`${at}\` must name a file by file_url or file_data`)
  return { ...named, type: 'input_file' }
}

/**
 * A content part as upstream names it by the role of its message; part types that are upstream's
 * own, or unknown, stay unchanged. @throws DomainError `invalid_request`
 */
function upstreamPart(value: unknown, ofAssistant: boolean, at: string): JsonObject {
  const part = objectAt(value, at)
  refuseFileId(part, at)
  switch (stringAt(part, 'type', `${at}.type`)) {
    case 'text':
      return textPart(part, ofAssistant ? 'output_text' : 'input_text', at)
    case 'image_url':
    case 'image':
      return imagePart(part, at)
    case 'file':
    case 'file_url':
    case 'file_id':
      return filePart(part, at)
    default:
      return part
  }
}

/**
 * Rules for ids in a responses request. Upstream keeps everything in an account that all tenants
 * share, so the gateway accepts an id only if it can prove that it is the caller's (P8).
 */

/** Whether an item of `input` only refers to a kept item; its id later shows whose it is. */
function isReference(item: JsonObject): boolean {
  const type = memberOrUndefined(item, 'type')
  const isBare = type === undefined && memberOrUndefined(item, 'role') === undefined
  return type === 'item_reference' || (isBare && memberOrUndefined(item, 'id') !== undefined)
}

/**
 * Refuses references of an `input` item that can never be a caller's. @throws DomainError
 * `invalid_request`
 */
function refuseReferences(item: JsonObject, at: string): void {
  const type = memberOrUndefined(item, 'type')
  if (type === 'image_generation_call' && typeof memberOrUndefined(item, 'result') !== 'string')
    refuse(`${at}.result`, `\`${at}.result\` is required: the gateway does not store images`)
  const output = memberOrUndefined(item, 'output')
  if (isJsonObject(output)) refuseFileId(output, `${at}.output`)
  if (!Array.isArray(output)) return
  for (const [index, part] of (output as readonly unknown[]).entries())
    if (isJsonObject(part)) refuseFileId(part, `${at}.output[${index}]`)
}

/** A responses request as the use case takes it. */
interface ResponsesRequest {
  readonly model: string
  readonly stream: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

const roles: readonly unknown[] = ['user', 'assistant', 'system', 'developer']

/** One item of `input`: a message has its parts rewritten, any other item is upstream's own. */
function upstreamItem(item: JsonObject, at: string): JsonObject {
  const type = memberOrUndefined(item, 'type')
  const role = memberOrUndefined(item, 'role')
  if (isReference(item)) return { type: 'item_reference', id: stringAt(item, 'id', `${at}.id`) }
  refuseReferences(item, at)
  if (type !== undefined && type !== 'message') return item
  if (!roles.includes(role))
    return refuse(`${at}.role`, `\`${at}.role\` must be one of ${roles.join(', ')}`)
  const content = memberOrUndefined(item, 'content')
  if (typeof content === 'string') return item
  if (!Array.isArray(content))
    return refuse(`${at}.content`, `\`${at}.content\` must be a string or an array of parts`)
  const parts = content as readonly unknown[]
  return {
    ...item,
    content: parts.map((part, index) =>
      upstreamPart(part, role === 'assistant', `${at}.content[${index}]`),
    ),
  }
}

function upstreamInput(input: unknown): string | readonly JsonObject[] {
  if (typeof input === 'string') return input
  return (input as readonly JsonObject[]).map((item, index) =>
    upstreamItem(item, `input[${index}]`),
  )
}

/** A function written the way chat writes it, flattened; any other tool as it is. */
function upstreamTool(tool: JsonObject, at: string): JsonObject {
  const nested = memberOrUndefined(tool, 'function')
  checkTool(tool, at)
  if (tool['type'] !== 'function') return tool
  if (nested === undefined) {
    stringAt(tool, 'name', `${at}.name`)
    return tool
  }
  const described = objectAt(nested, `${at}.function`)
  stringAt(described, 'name', `${at}.function.name`)
  return { ...omitMembers(tool, ['function']), ...described }
}

function upstreamTools(body: JsonObject): JsonObject {
  const tools = memberOrUndefined(body, 'tools') as readonly JsonObject[] | undefined
  const choice = memberOrUndefined(body, 'tool_choice')
  const chosen = isJsonObject(choice) ? memberOrUndefined(choice, 'function') : undefined
  return {
    ...(tools ? { tools: tools.map((tool, index) => upstreamTool(tool, `tools[${index}]`)) } : {}),
    ...(isJsonObject(choice) && isJsonObject(chosen)
      ? { tool_choice: { ...omitMembers(choice, ['function']), ...chosen } }
      : {}),
  }
}

/** `response_format` as `text.format`; an explicit `text.format` wins. */
function upstreamText(body: JsonObject): JsonObject {
  const [format, text] = [
    memberOrUndefined(body, 'response_format'),
    memberOrUndefined(body, 'text'),
  ]
  if (!isJsonObject(format)) return {}
  checkResponseFormat(format)
  if (isJsonObject(text) && memberOrUndefined(text, 'format') !== undefined) return {}
  const nested = memberOrUndefined(format, 'json_schema')
  const flat = isJsonObject(nested)
    ? { ...omitMembers(format, ['json_schema']), ...nested }
    : format
  return { text: { ...(isJsonObject(text) ? text : {}), format: flat } }
}

/** Members that are measured separately, or are no input. */
const measured: ReadonlySet<string> = new Set(
  'instructions input tools text previous_response_id include stream_options'.split(' '),
)

/** @throws DomainError `invalid_request`, naming the field */
export function readResponsesRequest(body: JsonObject): ResponsesRequest {
  const { model, stream = false } = readBody(ResponsesBodySchema, body)
  const input = upstreamInput(body['input'])
  const upstream: JsonObject = {
    ...omitMembers(body, ['model', 'stream', 'response_format']),
    input,
    ...upstreamTools(body),
    ...upstreamText(body),
  }
  return {
    model,
    stream,
    body: upstream,
    inputSize: measureInput(
      [own(body, 'instructions'), input],
      [upstream['tools'], upstream['text']],
      upstream,
      measured,
    ),
  }
}
