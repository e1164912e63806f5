import type { FastifyInstance } from 'fastify'
import type { Principal } from '../../app/access/principal.ts'
import { principalOf } from './authenticate.ts'

/** Counts a query of a token. @throws DomainError `rate_limited` when it has had as many as it may */
export type CountQuery = (principal: Principal) => void

/** Counts the queries below the plugin; what is refused for its parameters counts nothing. */
export function useQueryCount(app: FastifyInstance, count: CountQuery | undefined): void {
  if (count === undefined) return
  app.addHook('preHandler', (request, _reply, done) => {
    // Of an unknown route nobody is asked who calls.
    if (!request.is404) count(principalOf(request))
    done()
  })
}
