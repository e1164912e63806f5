import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { RequestError } from './request-error.ts'

/** Headers of a creation, for the documentation. */
export const IdempotencyKeySchema = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The same key and body again answers with the same task and sends nothing.',
    }),
  ),
})

const idempotencyKey = /^[\x20-\x7e]{1,255}$/

/** The caller's `Idempotency-Key`. @throws RequestError `parameter_invalid` */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !idempotencyKey.test(key))
    throw new RequestError(
      'parameter_invalid',
      'Idempotency-Key must be 1 to 255 printable ASCII characters',
      'Idempotency-Key',
    )
  return key
}
