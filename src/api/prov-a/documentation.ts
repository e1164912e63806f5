import type { FastifySchema } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { RequestError } from '../kit/request-error.ts'
import { provAEnvelope, type TaskErrorCode } from './envelope.ts'

/** The failures of a route, each shown exactly as the envelope answers it. */
const said: readonly Error[] = [
  new DomainError('invalid_request', '`duration` is required', { param: 'duration' }),
  new RequestError('unauthenticated', 'The token is not valid'),
  new DomainError('insufficient_balance', 'The balance does not cover this request', {}),
  new RequestError('wrong_token_kind', 'This path needs a model token'),
  new DomainError('model_not_allowed', 'This token may not use that model', {}),
  new DomainError('task_not_found', '', {}),
  new DomainError('task_running', '', {}),
  new DomainError('idempotency_key_reused', 'This Idempotency-Key came with another body', {}),
  new RequestError('body_too_large', 'The request body is too large'),
  new RequestError('media_type_unsupported', 'The request body must be sent as application/json'),
  new DomainError('rate_limited', 'Too many requests', {}),
  new DomainError('submission_uncertain', '', {}),
  new DomainError('log_unavailable', '', {}),
  new DomainError('asset_not_found', '', { param: 'content' }),
]

/** Whether this failure stands for its status on a route that lists these codes first. */
function failureOf(status: number, preferred: readonly TaskErrorCode[]): Error | undefined {
  const fitting = said.filter((error) => provAEnvelope(error).status === status)
  return (
    fitting.find(
      (error) => error instanceof DomainError && preferred.some((code) => code === error.code),
    ) ?? fitting[0]
  )
}

function failureSchema(error: Error | undefined): TSchema {
  const answer = provAEnvelope(error)
  const body = answer.body as {
    readonly error: { readonly code: string; readonly message: string }
  }
  return Type.Object(
    {
      error: Type.Object({
        code: Type.String(),
        message: Type.String(),
        param: Type.String({ description: 'The offending field, or empty.' }),
        type: Type.String(),
      }),
    },
    { description: `${body.error.code}: ${body.error.message}`, examples: [body] },
  )
}

/** What the OpenAPI description says of a route, its failures included. */
export function describe(route: {
  readonly summary: string
  readonly ok: TSchema
  readonly failures: readonly number[]
  readonly preferred?: readonly TaskErrorCode[]
}): FastifySchema {
  const failures = route.failures.map((status) => [
    status,
    failureSchema(failureOf(status, route.preferred ?? [])),
  ])
  return {
    tags: ['Video tasks'],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: { 200: route.ok, ...Object.fromEntries(failures) },
  }
}
