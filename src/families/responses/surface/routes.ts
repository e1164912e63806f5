import { Type } from 'typebox'
import { textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import { callExamples, callFailures, continuationFailures } from '../../../api/kit/call-failures.ts'
import type { Surface } from '../../../api/kit/surface.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { Anything, open } from '../../text/surface/bodies.ts'
import { responsesDialect } from './dialect.ts'
import { readResponsesRequest, ResponsesBodySchema } from './request.ts'

const ResponseSchema = Type.Object(
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

/** Responses, below `/v1`. */
export const responsesSurface = (upstream: TextUpstream): Surface =>
  textSurface(
    '/v1',
    {
      showsLimits: true,
      name: 'v1.responses',
      path: '/responses',
      body: ResponsesBodySchema,
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
