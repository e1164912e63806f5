import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import {
  answer,
  costHeaderNames,
  emptyAnswer,
  type DescribedHeader,
  failureResponses,
  limitHeaderNames,
} from '../kit/routes/documentation.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { v1Envelope } from './envelope.ts'

const ErrorSchema = Type.Object(
  {
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()], { description: 'The offending field.' }),
      code: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  { named: 'V1Failure' },
)

const shape = {
  envelope: v1Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { code, type, message } = (body as Static<typeof ErrorSchema>).error
    return { name: code ?? type, message }
  },
}

/** How routes below `/v1` take the token. */
const v1Security = [{ modelToken: [] }, { modelApiKey: [] }]

/** The OpenAPI description of a `/v1` route, including its failures. */
export function describeV1(route: {
  readonly tag: 'Text' | 'Images' | 'Videos' | 'Speech' | 'Files' | 'Prices'
  readonly operationId: string
  readonly summary: string
  /** Whether the route makes a call: the answer then has the id of the call. */
  readonly isCall?: boolean
  /** The answer has its settled cost; a call's answer always has it. */
  readonly costs?: boolean
  /** Undefined: it is no JSON. */
  readonly ok: TSchema | undefined
  /** The media types of a file, each with a description. */
  readonly files?: Readonly<Record<string, string>>
  /** A part of the file may be asked for. */
  readonly hasRanges?: boolean
  /** The description of the event stream, if the answer may be one. */
  readonly events?: string
  readonly failures: readonly FailureCode[]
  readonly further?: readonly Error[]
}): FastifySchema {
  const { tag, operationId, summary, isCall = false, ok, events, files, failures, further } = route
  const headers: readonly DescribedHeader[] = [
    ...(isCall ? (['x-call-id', 'idempotent-replayed', 'idempotent-kept'] as const) : []),
    ...limitHeaderNames,
  ]
  const allHeaders = isCall || route.costs === true ? [...headers, ...costHeaderNames] : headers
  const others = {
    ...(events !== undefined ? { 'text/event-stream': events } : {}),
    ...files,
  }
  return {
    operationId,
    tags: [tag],
    summary,
    security: v1Security,
    response: {
      200: answer({ ...(ok === undefined ? {} : { json: ok }), others, headers: allHeaders }),
      ...(route.hasRanges === true && {
        206: answer({ what: 'The byte range that `Range` asks for.', others, headers: allHeaders }),
        416: emptyAnswer('The range begins beyond the end.'),
      }),
      ...failureResponses(shape, failures, further, headers),
    },
  }
}
