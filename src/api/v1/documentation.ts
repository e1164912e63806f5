import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { failureResponses } from '../kit/failure-documentation.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { v1Envelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()], { description: 'The offending field.' }),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
})

const shape = {
  envelope: v1Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { code, type, message } = (body as Static<typeof ErrorSchema>).error
    return { name: code ?? type, message }
  },
}

/** What the OpenAPI description says of a `/v1` route, its failures included. */
export function describe(
  tag: 'Text' | 'Images',
  summary: string,
  ok: TSchema,
  failures: readonly FailureCode[],
  further: readonly Error[] = [],
): FastifySchema {
  return {
    tags: [tag],
    summary,
    security: [{ modelToken: [] }],
    response: { 200: ok, ...failureResponses(shape, failures, further) },
  }
}
