import { Type } from 'typebox'
import { textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import { callExamples, callFailures } from '../../../api/kit/call-failures.ts'
import type { Surface } from '../../../api/kit/surface.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { Anything, open } from '../../text/surface/bodies.ts'
import { chatDialect } from './dialect.ts'
import { ChatBodySchema, readChatRequest } from './request.ts'

const Count = Type.Integer({ minimum: 0 })

const ChatCompletionSchema = Type.Object(
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

/** Chat completions, below `/v1`. */
export const chatSurface = (upstream: TextUpstream): Surface =>
  textSurface(
    '/v1',
    {
      showsLimits: true,
      name: 'v1.chat',
      path: '/chat/completions',
      body: ChatBodySchema,
      documented: describe({
        tag: 'Text',
        operationId: 'createChatCompletion',
        isCall: true,
        summary: 'Complete a chat',
        ok: ChatCompletionSchema,
        events: 'With `stream`: chunks as `data:` lines, and `[DONE]`.',
        failures: callFailures,
        further: callExamples('messages'),
      }),
      read: (body) => {
        const { stream, includeUsage, ...asked } = readChatRequest(body)
        return { ...asked, dialect: stream ? chatDialect(includeUsage) : undefined }
      },
    },
    upstream,
  )
