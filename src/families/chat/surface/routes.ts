import type { FastifyInstance } from 'fastify'
import { answerStream, answerWhole, type CallPart } from '../../../api/kit/answer-call.ts'
import { callExamples, callFailures } from '../../../api/kit/call-failures.ts'
import { foreignToTexts } from '../../../api/kit/foreign-members.ts'
import { CallKeySchema } from '../../../api/kit/idempotency-key.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import { misspeltRefusal } from '../../../api/kit/quoted-path.ts'
import { type Services, streamOptions, type Surface } from '../../../api/kit/surface.ts'
import { alsoInChat } from '../../../api/v1/also-known.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { ChatBodySchema, ChatCompletionSchema } from '../../../api/v1/schemas.ts'
import { chatDialect } from './dialect.ts'
import { readChatRequest } from './request.ts'

/** Chat completions, below `/v1`. */

const called = { family: 'chat', surface: 'v1.chat' } as const

function register(app: FastifyInstance, services: Services): void {
  const { texts } = services
  app.post('/chat/completions', {
    // The reader judges bodies and names the field; the schema only finds misspelt names.
    validatorCompiler: refuseMisspelt(alsoInChat, { foreign: foreignToTexts }),
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'createChatCompletion',
        isCall: true,
        summary: 'Complete a chat',
        ok: ChatCompletionSchema,
        events: 'With `stream`: chunks as `data:` lines, and `[DONE]`.',
        failures: callFailures,
        further: callExamples('messages'),
      }),
      headers: CallKeySchema,
      body: ChatBodySchema,
    },
    handler: async (request, reply) => {
      const { stream, includeUsage, ...asked } = readChatRequest(objectBody(request.body))
      const part: CallPart = { ...called, ...asked }
      if (!stream) return answerWhole(texts, request, reply, part)
      const options = { dialect: chatDialect(includeUsage), ...streamOptions(services, request) }
      return answerStream(texts, request, reply, part, options)
    },
  })
}

export const chatSurface: Surface = {
  mount: '/v1',
  endpoints: { 'v1.chat': '/v1/chat/completions' },
  bodies: [{ schema: ChatBodySchema, also: alsoInChat }],
  register,
  quotes: ({ quotes }) => {
    const check = misspeltRefusal(ChatBodySchema, alsoInChat, { foreign: foreignToTexts })
    return [
      {
        path: '/v1/chat/completions',
        quote: async ({ principal, requestId, body }) => {
          check(body)
          return quotes.text({ ...called, principal, requestId, ...readChatRequest(body) })
        },
      },
    ]
  },
}
