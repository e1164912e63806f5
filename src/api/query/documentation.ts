import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { failureResponses } from '../kit/failure-documentation.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { queryEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  success: Type.Literal(false),
  message: Type.String(),
  error: Type.Object({ code: Type.String(), param: Type.Optional(Type.String()) }),
})

const shape = {
  envelope: queryEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { error, message } = body as Static<typeof ErrorSchema>
    return { name: error.code, message }
  },
}

/** What the OpenAPI description says of a query, its failures included. */
export function describe(
  summary: string,
  ok: TSchema,
  failures: readonly FailureCode[],
): FastifySchema {
  return {
    tags: ['Finance and support'],
    summary,
    security: [{ queryToken: [] }],
    response: { 200: ok, ...failureResponses(shape, failures) },
  }
}
