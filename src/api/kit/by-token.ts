import type { FastifyRequest } from 'fastify'
import type { ByToken } from '../../app/accounts/management.ts'
import { principalOf } from './authenticate.ts'

/** Who has something done, for the events of it. */
export function byToken(request: FastifyRequest): ByToken {
  return { tokenId: principalOf(request).tokenId, requestId: request.id }
}
