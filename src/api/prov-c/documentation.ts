import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { answer } from '../kit/answer-documentation.ts'
import { failureResponses } from '../kit/failure-documentation.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { provCEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  code: Type.Integer({ description: 'The status of the answer.' }),
  reason: Type.String(),
  message: Type.String(),
  metadata: Type.Object({ trace_id: Type.String({ description: 'Our id of the request.' }) }),
})

const shape = {
  envelope: provCEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { reason: name, message } = body as Static<typeof ErrorSchema>
    return { name, message }
  },
}

const lacking = new DomainError('invalid_request', '`model` is required', {
  param: 'model',
  reason: 'FieldLacking',
})

/** What the OpenAPI description says of a `/provC` route, its failures included. */
export function describe(route: {
  readonly operationId: string
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly FailureCode[]
}): FastifySchema {
  const { failures } = route
  const isCreation = failures.includes('idempotency_key_reused')
  const headers = isCreation
    ? (['x-platform-id', 'idempotent-replayed'] as const)
    : (['x-platform-id'] as const)
  return {
    operationId: route.operationId,
    tags: ['Video tasks'],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: {
      200: answer({ json: route.ok, headers }),
      ...failureResponses(shape, failures, isCreation ? [lacking] : [], headers),
    },
  }
}
