import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '../../app/access/principal.ts'
import { askedBy } from '../../kernel/asked-by.ts'
import { callerOf, principalOf } from './authenticate.ts'

/** What is done for the token of each request. */
export interface PerToken {
  /** Waits for the turn of what starts nothing, or may repeat what did. @throws DomainError `rate_limited` */
  readonly ownTurn?: (principal: Principal) => Promise<void> | undefined
  /** A token opened something. */
  readonly tokenUsed?: (tokenId: string) => void
}

/** Counts requests against their token, and marks the work that follows as asked for by it. */
export function usePerToken(app: FastifyInstance, { ownTurn, tokenUsed }: PerToken): void {
  // Past the body: reading it loses the async context.
  app.addHook('preHandler', (request, _reply, done) => {
    const caller = callerOf(request)
    if (caller === undefined) return done()
    const begin = (): void => askedBy(caller.tokenId, done)
    const turn = isOwnRequest(request) ? ownTurn?.(caller) : undefined
    if (turn === undefined) begin()
    else turn.then(begin, done)
  })
  app.addHook('onResponse', (request, _reply, done) => {
    const caller = callerOf(request)
    if (caller !== undefined) tokenUsed?.(caller.tokenId)
    done()
  })
}

/** What looks at what is there, deletes it, or may repeat what was asked before. */
function isOwnRequest({ method, headers, routeOptions: { config } }: FastifyRequest): boolean {
  return (
    method !== 'POST' || config.startsNothing === true || headers['idempotency-key'] !== undefined
  )
}

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
