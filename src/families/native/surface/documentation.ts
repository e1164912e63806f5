import type { FastifySchema } from 'fastify'
import { Type, type Static } from 'typebox'
import {
  answer,
  costHeaderNames,
  type DescribedAnswer,
} from '../../../api/kit/answer-documentation.ts'
import { failureResponses } from '../../../api/kit/failure-documentation.ts'
import { callExamples, callFailures } from '../../../api/kit/call-failures.ts'
import { v1betaEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String(),
    status: Type.String(),
    details: Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }))),
  }),
})

const shape = {
  envelope: v1betaEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { status, message } = (body as Static<typeof ErrorSchema>).error
    return { name: status, message }
  },
}

/** What the OpenAPI description says of a native route, its failures included. */
export function describe(
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
    security: [{ modelToken: [] }, { modelKey: [] }, { modelClientKey: [] }],
    response: {
      200: answer({ ...ok, headers: [...headers, ...costHeaderNames] }),
      ...failureResponses(shape, callFailures, callExamples('contents'), headers),
    },
  }
}
