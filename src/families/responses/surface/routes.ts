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
import { memberOrUndefined } from '../../../api/kit/bodies/member-checks.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
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

const CompactedSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.String({ description: '`response.compaction`.' }),
    output: Type.Array(AnyObject, {
      description: 'The input of the next response: what is left, and a `compaction` item.',
    }),
    usage: AnyObject,
  },
  { ...open, named: 'CompactedResponse' },
)

/**
 * Reads a conversation to compact: it is answered whole, and its summary has no bound that a caller could set.
 * @throws DomainError `invalid_request`, naming the field
 */
function readCompaction(body: JsonObject): Omit<ReturnType<typeof readResponsesRequest>, 'stream'> {
  if (memberOrUndefined(body, 'max_output_tokens') !== undefined)
    refuse('max_output_tokens', '`max_output_tokens` is not accepted here: a summary has no bound')
  const { stream, ...asked } = readResponsesRequest(body)
  if (stream)
    refuse('stream', '`stream` must not be true: a compacted conversation is not streamed')
  return asked
}

/** Compacts conversations of responses, below `/v1`. */
export const compactSurface = (upstream: TextUpstream): Surface =>
  textSurface(
    v1,
    {
      name: 'v1.responses.compact',
      path: '/responses/compact',
      body: ResponsesBodySchema,
      documented: describeV1({
        tag: 'Text',
        operationId: 'compactResponse',
        isCall: true,
        summary: 'Compact a conversation',
        ok: CompactedSchema,
        failures: [...callFailures, ...continuationFailures],
        further: callExamples('input'),
      }),
      read: (body) => ({ ...readCompaction(body), dialect: undefined }),
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
