import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { answer, type DescribedHeader } from '../kit/answer-documentation.ts'
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
  readonly operationId: string
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly FailureCode[]
  /** A field its body may lack. */
  readonly field?: string
  /** What its answers carry, failures included. */
  readonly headers?: readonly DescribedHeader[]
}): FastifySchema {
  const { field, headers = [] } = route
  const further =
    field === undefined
      ? []
      : [new DomainError('invalid_request', `\`${field}\` is required`, { param: field })]
  return {
    operationId: route.operationId,
    tags: ['Video tasks'],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: {
      200: answer({ json: route.ok, headers }),
      ...failureResponses(shape, route.failures, further, headers),
    },
  }
}
