import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { answer } from '../../kit/answer-documentation.ts'
import { failureResponses } from '../../kit/failure-documentation.ts'
import type { FailureCode } from '../../kit/failure-table.ts'
import { provBV2Envelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  type: Type.Enum(['error']),
  error: Type.Object({
    type: Type.String(),
    message: Type.String({ description: 'Ends with the number of the error in brackets.' }),
    http_code: Type.String({ description: 'The status of the answer.' }),
  }),
  request_id: Type.String({ description: 'Our id of the request.' }),
})

const shape = {
  envelope: provBV2Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { type: name, message } = (body as Static<typeof ErrorSchema>).error
    return { name: `${name} ${/\((\d+)\)$/.exec(message)?.[1] ?? ''}`, message }
  },
}

/** An input that the model service's moderation took. */
const moderated = new DomainError('submission_refused', '', {
  kind: 'invalid',
  upstreamCode: '1026',
})

/** What the OpenAPI description says of a `/provB/v2` route, its failures included. */
export function describe(route: {
  readonly operationId: string
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly FailureCode[]
}): FastifySchema {
  const { failures } = route
  const further = failures.includes('refused_invalid') ? [moderated] : []
  const headers = failures.includes('idempotency_key_reused')
    ? (['x-platform-id', 'idempotent-replayed'] as const)
    : (['x-platform-id'] as const)
  return {
    operationId: route.operationId,
    tags: ['Video tasks'],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: {
      200: answer({ json: route.ok, headers }),
      ...failureResponses(shape, failures, further, headers),
    },
  }
}
