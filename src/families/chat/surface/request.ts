import { type Static, Type } from 'typebox'
import {
  objectAt,
  optionalObject,
  stringAt,
  omitMembers,
} from '../../../api/kit/bodies/member-checks.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { readBody, RefusedMember } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import {
  extraMemberNames,
  checkResponseFormat,
  Choice,
  ModelName,
  Name,
  open,
  OutputBound,
  refuseFileId,
  refuseUnmetered,
  ResponseFormat,
  Stream,
  Temperature,
  TypedObject,
} from '../../text/surface/bodies.ts'
import { chatRules } from '../rules/wire.ts'

/** The body of a chat completion. Members that it does not describe are passed on unchanged. */

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

const Message = Type.Object(
  {
    role: Type.Enum([...roles], { words: { required: `must be one of ${roles.join(', ')}` } }),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(TypedObject)], {
        words: 'must be a string or an array of parts',
        description: 'Text, or an array of parts.',
      }),
    ),
    // Earlier speech of an assistant is referred to by an id, and all tenants share the account
    // that keeps it (P8).
    audio: RefusedMember('is not offered: send the transcript in `content`'),
    tool_calls: Type.Optional(Type.Array(Type.Unknown())),
  },
  {
    named: 'ChatMessage',
    ...open,
    knownExtraFields: `
      name tool_call_id function_call refusal annotations
      reasoning reasoning_content reasoning_details thinking thinking_blocks
      prefix partial phase cache_control images type`,
  },
)

export const ChatBodySchema = Type.Object(
  {
    model: ModelName,
    messages: Type.Array(Message, { minItems: 1, words: { minItems: 'must not be empty' } }),
    temperature: Type.Optional(Temperature),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    max_completion_tokens: Type.Optional(OutputBound),
    max_tokens: Type.Optional(OutputBound),
    stream: Type.Optional(Stream),
    stream_options: Type.Optional(
      Type.Object(
        {
          include_usage: Type.Optional(
            Type.Boolean({ description: 'true: the last chunk has `usage` and no choices.' }),
          ),
        },
        {
          ...open,
          knownExtraFields: 'include_obfuscation chunk_include_usage continuous_usage_stats',
        },
      ),
    ),
    tools: Type.Optional(Type.Array(TypedObject)),
    functions: Type.Optional(
      Type.Array(Type.Object({ name: Name }, { ...open, knownExtraFields: '*' }), {
        description: 'The older form of `tools`.',
      }),
    ),
    tool_choice: Type.Optional(Choice),
    function_call: Type.Optional(Choice),
    response_format: Type.Optional(ResponseFormat),
    web_search_options: Type.Optional(
      Type.Object({}, { ...open, description: 'Searches the web; each search is charged.' }),
    ),
  },
  {
    named: 'ChatRequest',
    ...open,
    description:
      'Other members are passed on, except those that change the price or the model. A `file_id` is refused, and so are integers beyond 2^53 outside of schemas, arguments and `metadata`.',
    examples: [{ model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }],
    knownExtraFields: `${extraMemberNames}
      prediction include_reasoning do_sample
      chat_template_kwargs tool_stream request_id user_id usage`,
  },
)

/** A chat request for the use case. */
interface ChatRequest {
  readonly model: string
  readonly stream: boolean
  /** The caller asked for the usage chunk, and for `usage: null` in the other chunks. */
  readonly includeUsage: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

/** An assistant's message may hold tool calls alone; no message may name a file. */
function checkContent({ role, content }: Static<typeof Message>, at: string): void {
  if (content === undefined && role !== 'assistant')
    refuse(`${at}.content`, `\`${at}.content\` is required`)
  if (typeof content === 'string') return
  for (const [index, part] of (content ?? []).entries())
    refuseFileId(part, `${at}.content[${index}]`)
}

function checkTool(tool: JsonObject, at: string): void {
  refuseUnmetered(chatRules, tool, at)
  if (tool['type'] !== 'function') return
  const described = objectAt(tool['function'], `${at}.function`)
  stringAt(described, 'name', `${at}.function.name`)
  optionalObject(described, 'parameters', `${at}.function.parameters`)
}

/** Members that are measured separately, or are no input. */
const measured: ReadonlySet<string> = new Set(
  'model messages tools functions response_format stream_options'.split(' '),
)

/** @throws DomainError `invalid_request`, naming the field */
export function readChatRequest(sent: JsonObject): ChatRequest {
  const body = readBody(ChatBodySchema, sent)
  const { model, stream = false, stream_options: options } = body
  for (const [index, message] of body.messages.entries())
    checkContent(message, `messages[${index}]`)
  for (const [index, tool] of (body.tools ?? []).entries()) checkTool(tool, `tools[${index}]`)
  if (body.response_format !== undefined) checkResponseFormat(body.response_format)
  if (options !== undefined && !stream)
    refuse('stream_options', '`stream_options` is only allowed when `stream` is true')
  // The gateway itself decides whether upstream reports usage.
  const written = sent['stream_options']
  const further = isJsonObject(written) ? omitMembers(written, ['include_usage']) : {}
  const { model: _model, stream: _stream, stream_options: _options, ...rest } = sent
  return {
    model,
    stream,
    includeUsage: options?.include_usage ?? false,
    body: Object.keys(further).length === 0 ? rest : { ...rest, stream_options: further },
    inputSize: measureInput(
      [sent['messages']],
      [sent['tools'], sent['functions'], sent['response_format']],
      sent,
      measured,
    ),
  }
}
