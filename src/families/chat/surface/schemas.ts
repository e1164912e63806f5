import { Type } from 'typebox'
import type { AlsoKnown } from '../../../api/kit/names.ts'
import {
  Anything,
  anywhere,
  ofFormat,
  open,
  ResponseFormat,
  Stream,
} from '../../text/surface/v1-bodies.ts'

/** Shapes of chat completions; other members pass. */

const Temperature = Type.Number({ minimum: 0, maximum: 2, description: 'Default 1.' })

export const ChatBodySchema = Type.Object(
  {
    model: Type.String(),
    messages: Type.Array(
      Type.Object(
        {
          role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
          content: Type.Optional(
            Type.Union([Type.String(), Type.Array(Anything), Type.Null()], {
              description: 'Text, or an array of parts.',
            }),
          ),
        },
        open,
      ),
      { minItems: 1 },
    ),
    temperature: Type.Optional(Temperature),
    stream: Type.Optional(Stream),
    stream_options: Type.Optional(
      Type.Object(
        {
          include_usage: Type.Optional(
            Type.Boolean({ description: 'A last chunk with `usage` and no choices.' }),
          ),
        },
        open,
      ),
    ),
    tools: Type.Optional(Type.Array(Anything)),
    functions: Type.Optional(Type.Array(Anything, { description: 'The older form of `tools`.' })),
    tool_choice: Type.Optional(Type.Union([Type.String(), Anything])),
    response_format: Type.Optional(ResponseFormat),
    web_search_options: Type.Optional(
      Type.Object({}, { ...open, description: 'Searches the web; charged by call.' }),
    ),
  },
  {
    ...open,
    description:
      'Members not named here are passed on, but for those that change the price or the model. Integers beyond 2^53 are refused, and so is a `file_id`.',
    examples: [{ model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }],
  },
)

/** Members that clients write beside those. */
export const alsoInChat: AlsoKnown = {
  '': `${anywhere}
    max_tokens max_completion_tokens function_call prediction include_reasoning do_sample
    chat_template_kwargs tool_stream request_id user_id usage`,
  'messages[]': `
    name tool_calls tool_call_id function_call refusal audio annotations
    reasoning reasoning_content reasoning_details thinking thinking_blocks
    prefix partial phase cache_control images type`,
  stream_options: 'include_obfuscation chunk_include_usage continuous_usage_stats',
  response_format: ofFormat,
}

const Count = Type.Integer({ minimum: 0 })

export const ChatCompletionSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer(),
    model: Type.String({ description: 'The name that was asked for.' }),
    choices: Type.Array(Anything),
    usage: Type.Object(
      {
        prompt_tokens: Count,
        completion_tokens: Count,
        total_tokens: Count,
        prompt_tokens_details: Type.Object(
          {
            cached_tokens: Type.Optional(Count),
            cached_write_tokens: Type.Optional(Count),
            cached_write_5m_tokens: Type.Optional(Count),
            cached_write_1h_tokens: Type.Optional(Count),
          },
          { ...open, description: 'Cache writes are left out when there are none.' },
        ),
      },
      open,
    ),
  },
  open,
)
