import type { FastifySchema } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import {
  answer,
  costHeaderNames,
  type DescribedAnswer,
  failureResponses,
} from '../../../api/kit/routes/documentation.ts'
import {
  callExamples,
  callFailureHeaders,
  callFailures,
  readCallFailure,
} from '../../../api/kit/failures/call-failures.ts'
import { costMember, costInLastFrame, withCost } from '../../../api/kit/answers/answer-headers.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import type { FailureStatus } from '../../../api/kit/failures/failure-row.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import type { Failure } from '../../../api/kit/failures/surface-failures.ts'
import type { TextFrame } from '../../text/calls/types.ts'
import type { Cost } from '../../../domain/pricing/settlement.ts'

/** The `status` word of an error goes with its HTTP status. */
const wordByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  431: 'INVALID_ARGUMENT',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  507: 'RESOURCE_EXHAUSTED',
  529: 'UNAVAILABLE',
}

/** Status words of upstream for a refused input that say more than the HTTP status. */
const inputWords: ReadonlySet<string> = new Set(['FAILED_PRECONDITION', 'OUT_OF_RANGE'])

type Detail = Readonly<Record<string, unknown>>

function detailsOf(failure: Failure): readonly Detail[] {
  const details: Detail[] = []
  // Clients read the reason here; its code is the same as on `/v1`.
  if (!/^[A-Z_]*$/.test(failure.code))
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: failure.code.toUpperCase(),
      domain: 'gateway',
    })
  if (failure.param !== undefined)
    details.push({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: failure.param, description: failure.message }],
    })
  if (typeof failure.retry === 'number')
    details.push({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: `${failure.retry / 1_000}s`,
    })
  return details
}

function bodyOf(failure: Failure): unknown {
  const said = inputWords.has(failure.code) ? failure.code : undefined
  const details = detailsOf(failure)
  return {
    error: {
      code: failure.status,
      message: failure.message,
      status: failure.status === 400 && said ? said : wordByStatus[failure.status],
      ...(details.length > 0 ? { details } : {}),
    },
  }
}

/** A failure in the middle of a stream: the same object as its body. */
function v1betaFailureBody(error: unknown): unknown {
  return bodyOf(readCallFailure(error))
}

/** The error shape of `/v1beta`: `{error: {code, message, status, details}}`. */
export const v1betaEnvelope: Envelope = (error): Answer => {
  const failure = readCallFailure(error)
  return {
    status: failure.status,
    headers: callFailureHeaders(failure),
    body: bodyOf(failure),
  }
}

/** The beginning of an object of figures that is not empty; inside a text its quotes would be escaped. */
const figures = /"usageMetadata"\s*:\s*\{(?=\s*")/g

/**
 * Adds the member `cost` to a frame's usage, because clients of this wire pass on the usage and
 * drop other members. In a frame without usage, or one that has that word elsewhere, `cost` is a
 * member of the frame.
 */
function withCostInUsage(data: string, cost: Cost | undefined): string {
  if (cost === undefined) return data
  if (data.match(figures)?.length !== 1) return withCost(data, cost)
  return data.replace(figures, (begun) => `${begun}"cost":${JSON.stringify(costMember(cost))},`)
}

/** `data:` lines alone and no `[DONE]`: clients of this wire parse every frame. */
export function nativeDialect(): StreamDialect<TextFrame> {
  return {
    ...costInLastFrame(({ data }, cost) =>
      data === '[DONE]' ? undefined : `data: ${oneLine(withCostInUsage(data, cost))}\n\n`,
    ),
    failure: (error) => `data: ${JSON.stringify(v1betaFailureBody(error))}\n\n`,
    end: '',
  }
}

const ErrorSchema = Type.Object(
  {
    error: Type.Object({
      code: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String(),
      status: Type.String(),
      details: Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }))),
    }),
  },
  { named: 'NativeFailure' },
)

const shape = {
  envelope: v1betaEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { status, message } = (body as Static<typeof ErrorSchema>).error
    return { name: status, message }
  },
}

const security = [{ modelToken: [] }, { modelKey: [] }, { modelClientKey: [] }]

/** The OpenAPI description of a native route that costs nothing, including its failures. */
export function describeFree(
  operationId: string,
  summary: string,
  ok: TSchema,
  failures: readonly FailureCode[],
  further: readonly Error[] = [],
): FastifySchema {
  const response = { 200: answer({ json: ok }), ...failureResponses(shape, failures, further) }
  return { operationId, tags: ['Text'], summary, security, response }
}

/** The OpenAPI description of a native call, including its failures. */
export function describeNative(
  operationId: string,
  summary: string,
  ok: Pick<DescribedAnswer, 'json' | 'others'>,
): FastifySchema {
  const headers = ['x-call-id', 'idempotent-replayed'] as const
  return {
    operationId,
    tags: ['Text'],
    summary,
    description: 'The token is sent as a bearer token or in `x-native-api-key`, never in the URL.',
    security,
    response: {
      200: answer({ ...ok, headers: [...headers, ...costHeaderNames] }),
      ...failureResponses(shape, callFailures, callExamples('contents'), headers),
    },
  }
}
