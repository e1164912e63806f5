import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { failureResponses } from '../kit/failure-documentation.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { provAEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.String({ description: 'The offending field, or empty.' }),
    type: Type.String(),
  }),
})

const shape = {
  envelope: provAEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { code, message } = (body as Static<typeof ErrorSchema>).error
    return { name: code, message }
  },
}

/** What the OpenAPI description says of a route, its failures included. */
export function describe(route: {
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly FailureCode[]
  /** A field its body may lack. */
  readonly field?: string
}): FastifySchema {
  const { field } = route
  const further =
    field === undefined
      ? []
      : [new DomainError('invalid_request', `\`${field}\` is required`, { param: field })]
  return {
    tags: ['Video tasks'],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: { 200: route.ok, ...failureResponses(shape, route.failures, further) },
  }
}
