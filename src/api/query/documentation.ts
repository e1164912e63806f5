import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { answer } from '../kit/answer-documentation.ts'
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

const csvText = 'RFC 4180 with a line of names, where CSV is asked for.'

/** What the OpenAPI description says of a query, its failures included. */
export function describe(route: {
  readonly operationId: string
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly FailureCode[]
  /** It can be answered as a table too. */
  readonly csv?: boolean
}): FastifySchema {
  const { operationId, summary, ok, failures, csv = false } = route
  const table = { others: { 'text/csv': csvText }, headers: ['content-disposition'] } as const
  return {
    operationId,
    tags: ['Finance and support'],
    summary,
    security: [{ queryToken: [] }],
    response: {
      200: answer({ json: ok, ...(csv ? table : {}) }),
      ...failureResponses(shape, failures),
    },
  }
}
