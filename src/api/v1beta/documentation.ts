import type { FastifySchema } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'
import { RequestError } from '../kit/request-error.ts'
import { v1betaEnvelope } from './envelope.ts'

/** One failure for each status, shown exactly as the envelope answers it. */
const failures: readonly Error[] = [
  new DomainError('invalid_request', '`contents` is required', { param: 'contents' }),
  new RequestError('unauthenticated', 'The token is not valid'),
  new DomainError('insufficient_balance', 'The balance does not cover this request', {}),
  new DomainError('model_not_allowed', 'This token may not use that model', {}),
  new DomainError('unknown_model', 'The model does not exist or may not be used', {}),
  new RequestError('body_too_large', 'The request body is too large'),
  new RequestError('media_type_unsupported', 'The request body must be sent as application/json'),
  new DomainError('rate_limited', 'Too many requests', { retryAfterMs: 1_000 }),
  new RequestError('internal', 'Internal error'),
  new DomainError('upstream_unavailable', 'The model service failed', {}),
  new DomainError('log_unavailable', '', {}),
  new DomainError('upstream_timeout', 'The model service did not answer in time', {}),
]

const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String(),
    status: Type.String(),
    details: Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }))),
  }),
})

function failureSchemas(): Readonly<Record<string, TSchema>> {
  const answers = failures.map(v1betaEnvelope)
  return Object.fromEntries(
    answers.map(({ status, body }) => {
      const { error } = body as { readonly error: { readonly status: string } }
      return [status, { ...ErrorSchema, description: error.status, examples: [body] }]
    }),
  )
}

/** What the OpenAPI description says of a native route, its failures included. */
export function describe(summary: string, ok: TSchema): FastifySchema {
  return {
    tags: ['Text'],
    summary,
    description: 'The token is sent as a bearer token or in `x-native-api-key`, never in the URL.',
    security: [{ modelToken: [] }],
    response: { 200: ok, ...failureSchemas() },
  }
}
