import type { TextUpstream } from '../../text/surface/answer-call.ts'
import { callExamples, callFailures, continuationFailures } from '../../../api/kit/call-failures.ts'
import type { Surface } from '../../../api/kit/surface.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { v1TextSurface } from '../../text/surface/v1-calls.ts'
import { responsesDialect } from './dialect.ts'
import { readResponsesRequest } from './request.ts'
import { alsoInResponses, ResponsesBodySchema, ResponseSchema } from './schemas.ts'

/** Responses, below `/v1`. */
export const responsesSurface = (upstream: TextUpstream): Surface =>
  v1TextSurface(
    {
      name: 'v1.responses',
      path: '/responses',
      body: ResponsesBodySchema,
      alsoKnown: alsoInResponses,
      documented: describe({
        tag: 'Text',
        operationId: 'createResponse',
        isCall: true,
        summary: 'Create a response',
        ok: ResponseSchema,
        events: 'With `stream`: the events of the response, `event:` and `data:`.',
        failures: [...callFailures, ...continuationFailures],
        further: callExamples('input'),
      }),
      read: (body) => {
        const { stream, ...asked } = readResponsesRequest(body)
        return { ...asked, dialect: stream ? responsesDialect() : undefined }
      },
    },
    upstream,
  )
