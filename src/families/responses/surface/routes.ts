import { Type } from 'typebox'
import { textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import { countSurface, type CountUpstream } from '../../text/surface/counts.ts'
import {
  callExamples,
  callFailures,
  continuationFailures,
  countFailures,
} from '../../../api/kit/failures/call-failures.ts'
import type { Surface } from '../../../api/kit/routes/surface.ts'
import { describeV1 } from '../../../api/v1/documentation.ts'
import { AnyObject, open } from '../../text/surface/bodies.ts'
import { readResponsesRequest, ResponsesBodySchema } from './request.ts'
import type { TextFrame } from '../../text/calls/types.ts'
import { costInLastFrame, withCost } from '../../../api/kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { v1Error } from '../../../api/v1/envelope.ts'
import { v1 } from '../../../api/v1/mount.ts'

function sequenceOf(data: string): number | undefined {
  const found = /"sequence_number"\s*:\s*(\d{1,15})/.exec(data)?.[1]
  return found === undefined ? undefined : Number(found)
}

/**
 * Frames of responses streams: every event unchanged, known or not. The events already have the
 * members that this surface adds.
 */
function responsesDialect(): StreamDialect<TextFrame> {
  let last = ''
  return {
    ...costInLastFrame((frame, cost) => {
      if (frame.data === '[DONE]') return undefined
      last = frame.data
      const data = oneLine(withCost(frame.data, cost))
      return frame.event === undefined || frame.event === ''
        ? `data: ${data}\n\n`
        : `event: ${frame.event}\ndata: ${data}\n\n`
    }),
    failure: (error) => {
      const { code, message, param } = v1Error(error)
      const sequence_number = (sequenceOf(last) ?? -1) + 1
      const data = { type: 'error', sequence_number, code, message, param }
      return `event: error\ndata: ${JSON.stringify(data)}\n\n`
    },
    end: '',
  }
}

export const ResponseSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    status: Type.String(),
    model: Type.String({ description: 'Model name of the request.' }),
    output: Type.Array(AnyObject),
    tool_calls: Type.Optional(
      Type.Array(AnyObject, { description: 'The `function_call` items of `output`.' }),
    ),
    usage: Type.Union([AnyObject, Type.Null()]),
  },
  { ...open, named: 'ModelResponse' },
)

const CountSchema = Type.Object(
  { object: Type.Optional(Type.String()), input_tokens: Type.Integer({ minimum: 0 }) },
  { ...open, named: 'ResponseTokensCount', description: 'Further members are the provider’s.' },
)

/** The count of the input of responses, below `/v1`. */
export const responseCountSurface = (upstream: CountUpstream): Surface =>
  countSurface(
    v1,
    {
      name: 'v1.responses.input_tokens',
      path: '/responses/input_tokens',
      body: ResponsesBodySchema,
      documented: describeV1({
        tag: 'Text',
        operationId: 'countResponseTokens',
        summary: 'Count the input tokens of a response',
        ok: CountSchema,
        failures: [...countFailures, ...continuationFailures],
        further: callExamples('input'),
      }),
      read: (body) => {
        const { stream: _stream, ...asked } = readResponsesRequest(body)
        return asked
      },
    },
    upstream,
  )

/** Responses, below `/v1`. */
export const responsesSurface = (upstream: TextUpstream): Surface =>
  textSurface(
    v1,
    {
      name: 'v1.responses',
      path: '/responses',
      body: ResponsesBodySchema,
      documented: describeV1({
        tag: 'Text',
        operationId: 'createResponse',
        isCall: true,
        summary: 'Create a response',
        ok: ResponseSchema,
        events: 'With `stream`: the events of the response, as `event:` and `data:` lines.',
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
