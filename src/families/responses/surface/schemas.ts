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

/** Shapes of responses; other members pass. */

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

/** Members that clients write beside those. */
export const alsoInResponses: AlsoKnown = {
  '': `${anywhere}
    instructions include max_output_tokens max_tool_calls tool_choice text truncation messages
    prompt conversation background context_management stream_options`,
  response_format: ofFormat,
}

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
