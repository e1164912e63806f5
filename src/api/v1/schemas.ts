import { Type } from 'typebox'

/** Shapes of chat, responses and models; others pass. */

const open = { additionalProperties: true }
const Anything = Type.Object({}, open)

const ResponseFormat = Type.Object(
  { type: Type.String({ description: '`text`, `json_object`, `json_schema` or another option.' }) },
  open,
)
const Stream = Type.Boolean({ description: 'Server-sent events instead of one answer.' })
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

export const ResponsesBodySchema = Type.Object(
  {
    model: Type.String(),
    input: Type.Union([Type.String(), Type.Array(Anything)], {
      description: 'Text, or items of `role` and `content`.',
    }),
    response_format: Type.Optional(ResponseFormat),
    previous_response_id: Type.Optional(
      Type.String({ description: 'The `id` of an answer to the same tenant.' }),
    ),
    stream: Type.Optional(Stream),
    tools: Type.Optional(Type.Array(Anything)),
  },
  {
    ...open,
    description:
      'Members not named here are passed on, but for those that change the price or the model. `background` must not be true; `conversation`, `prompt` and a `file_id` are refused.',
    examples: [
      {
        model: 'text-basic',
        input: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      },
    ],
  },
)

export const ResponseSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    status: Type.String(),
    model: Type.String({ description: 'The name that was asked for.' }),
    output: Type.Array(Anything),
    tool_calls: Type.Optional(
      Type.Array(Anything, { description: 'The `function_call` items of `output`.' }),
    ),
    usage: Type.Union([Anything, Type.Null()]),
  },
  open,
)

export const ModelSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix seconds.' }),
  owned_by: Type.Literal('gateway'),
  supported_endpoints: Type.ReadonlyType(Type.Array(Type.String())),
})

export const ModelListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(ModelSchema),
})

export const ModelParamsSchema = Type.Object({ id: Type.String() })
export const LooseModelParamsSchema = Type.Object({ '*': Type.String() })
