import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { RequestError } from './request-error.ts'

const headersWith = (description: string) =>
  Type.Object({
    'idempotency-key': Type.Optional(Type.String({ minLength: 1, maxLength: 255, description })),
  })

/** Headers of a creation, for the documentation. */
export const IdempotencyKeySchema = headersWith(
  'The same key and body again answers with the same task and sends nothing.',
)

/** The same of a call that is answered at once. */
export const CallKeySchema = headersWith(
  'The same key and body again, within a day, answers as the first did: nothing is sent or charged twice.',
)

/** The same of what moves a tenant's money. */
export const PostingKeySchema = headersWith(
  'Names the request instead of an id in the body: the same key and body again moves nothing more.',
)

/** The header of an answer that is repeated. */
export const REPLAYED = 'idempotent-replayed'

/** Whether one was sent, of whatever form. */
export function hasIdempotencyKey({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['idempotency-key'] !== undefined
}

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
