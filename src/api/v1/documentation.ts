import type { FastifySchema } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { RequestError } from '../kit/request-error.ts'
import { v1Envelope } from './envelope.ts'

/** One failure for each status, shown exactly as the envelope answers it. */
const failures: readonly Error[] = [
  new DomainError('invalid_request', '`messages` is required', { param: 'messages' }),
  new RequestError('unauthenticated', 'The token is not valid'),
  new DomainError('insufficient_balance', 'The balance does not cover this request', {}),
  new DomainError('model_not_allowed', 'This token may not use that model', {}),
  new DomainError('unknown_model', 'The model does not exist or may not be used', {}),
  new DomainError('call_refused', 'The request conflicts with another', {
    kind: 'invalid',
    status: 409,
    upstreamCode: 'conflict',
  }),
  new RequestError('body_too_large', 'The request body is too large'),
  new RequestError('media_type_unsupported', 'The request body must be sent as application/json'),
  new DomainError('call_refused', 'The request could not be processed', {
    kind: 'invalid',
    status: 422,
    upstreamCode: 'unprocessable',
  }),
  new DomainError('rate_limited', 'Too many requests', { retryAfterMs: 1_000 }),
  new RequestError('internal', 'Internal error'),
  new DomainError('upstream_unavailable', '', {}),
  new DomainError('log_unavailable', '', {}),
  new DomainError('upstream_timeout', '', {}),
]

const ErrorSchema = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()], { description: 'The offending field.' }),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
})

function failureSchema(status: number): TSchema {
  const answer = failures.map(v1Envelope).find((each) => each.status === status)
  if (answer === undefined) throw new Error(`no failure is described for ${status}`)
  const body = answer.body as {
    readonly error: { readonly message: string; readonly code: string | null }
  }
  const description = `${body.error.code ?? ''}: ${body.error.message}`
  return { ...ErrorSchema, description, examples: [body] }
}

/** What the OpenAPI description says of a `/v1` route, its failures included. */
export function describe(summary: string, ok: TSchema, statuses: readonly number[]): FastifySchema {
  return {
    tags: ['Text'],
    summary,
    security: [{ modelToken: [] }],
    response: {
      200: ok,
      ...Object.fromEntries(statuses.map((status) => [status, failureSchema(status)])),
    },
  }
}
