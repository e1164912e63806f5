import type { FastifyInstance } from 'fastify'
import { answerStream, answerWhole, type CallPart } from '../../../api/kit/answer-call.ts'
import { callExamples, callFailures, continuationFailures } from '../../../api/kit/call-failures.ts'
import { foreignToTexts } from '../../../api/kit/foreign-members.ts'
import { CallKeySchema } from '../../../api/kit/idempotency-key.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import { misspeltRefusal } from '../../../api/kit/quoted-path.ts'
import { type Services, streamOptions, type Surface } from '../../../api/kit/surface.ts'
import { alsoInResponses } from '../../../api/v1/also-known.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { ResponsesBodySchema, ResponseSchema } from '../../../api/v1/schemas.ts'
import { responsesDialect } from './dialect.ts'
import { readResponsesRequest } from './request.ts'

/** Responses, below `/v1`. */

const called = { family: 'responses', surface: 'v1.responses' } as const

function register(app: FastifyInstance, services: Services): void {
  const { texts } = services
  app.post('/responses', {
    // The reader judges bodies and names the field; the schema only finds misspelt names.
    validatorCompiler: refuseMisspelt(alsoInResponses, { foreign: foreignToTexts }),
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'createResponse',
        isCall: true,
        summary: 'Create a response',
        ok: ResponseSchema,
        events: 'With `stream`: the events of the response, `event:` and `data:`.',
        failures: [...callFailures, ...continuationFailures],
        further: callExamples('input'),
      }),
      headers: CallKeySchema,
      body: ResponsesBodySchema,
    },
    handler: async (request, reply) => {
      const { stream, ...asked } = readResponsesRequest(objectBody(request.body))
      const part: CallPart = { ...called, ...asked }
      if (!stream) return answerWhole(texts, request, reply, part)
      const options = { dialect: responsesDialect(), ...streamOptions(services, request) }
      return answerStream(texts, request, reply, part, options)
    },
  })
}

export const responsesSurface: Surface = {
  mount: '/v1',
  endpoints: { 'v1.responses': '/v1/responses' },
  bodies: [{ schema: ResponsesBodySchema, also: alsoInResponses }],
  register,
  quotes: ({ quotes }) => {
    const check = misspeltRefusal(ResponsesBodySchema, alsoInResponses, { foreign: foreignToTexts })
    return [
      {
        path: '/v1/responses',
        quote: async ({ principal, requestId, body }) => {
          check(body)
          return quotes.text({ ...called, principal, requestId, ...readResponsesRequest(body) })
        },
      },
    ]
  },
}
