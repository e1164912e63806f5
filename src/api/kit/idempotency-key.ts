import type { FastifyRequest } from 'fastify'
import { RequestError } from './request-error.ts'

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
