import type { FastifyRequest } from 'fastify'
import { type Reach, reachOfAdmin } from '../../app/accounts/reach.ts'
import { principalOf } from '../kit/authenticate.ts'

/** How far the admin token of a request reaches. */
export function reachOf(request: FastifyRequest): Reach {
  return reachOfAdmin(principalOf(request))
}
