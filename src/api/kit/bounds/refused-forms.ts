import type { FastifyRequest } from 'fastify'
import { sharerOf } from '../../../domain/token/sharer.ts'
import type { FreeRequests } from '../../../app/spending/throttle/free-requests.ts'
import { addressBlock } from '../../../kernel/address-ranges.ts'
import { createLru } from '../../../kernel/lru.ts'
import type { Sharer } from '../../../kernel/sharers.ts'

/** Tenants remembered of whom a request was refused for its form; the oldest are evicted first. */
const MAX_TENANTS = 20_000

/**
 * Paces requests that are refused before their work begins: for a body that is not valid, without a
 * known token. They are counted by the caller's address (for IPv6 its /64) together with its user
 * and its tenant, so that neither a neighbour behind the same address nor the same user elsewhere is
 * refused for them. Requests without a known token are counted by the address alone.
 */
export interface RefusedForms {
  /** For a request with a token, or one that is about to be refused. @throws DomainError `rate_limited` */
  readonly check: (request: FastifyRequest) => Promise<never> | undefined
  readonly count: (request: FastifyRequest) => void
}

export function createRefusedForms(limit: Pick<FreeRequests, 'begin' | 'count'>): RefusedForms {
  // Nearly every request has a tenant of which none was refused: it needs no look at its address.
  const noisy = createLru<string, true>(MAX_TENANTS)
  return {
    check: (request) => {
      const tenantId = request.principal?.tenantId
      if (tenantId !== undefined && !noisy.has(tenantId)) return undefined
      return limit.begin(keysOf(request))
    },
    count: (request) => {
      const tenantId = request.principal?.tenantId
      if (tenantId !== undefined) noisy.set(tenantId, true)
      limit.count(keysOf(request))
    },
  }
}

/** A request whose caller has disconnected has no address, although its type says that it has one. */
function keysOf({
  ip,
  principal,
}: Pick<FastifyRequest, 'principal'> & { readonly ip?: string }): Sharer {
  const block = addressBlock(ip ?? '')
  if (principal === undefined) return { user: block, tenant: block }
  const { user, tenant } = sharerOf(principal)
  return { user: `${block}\n${user}`, tenant: `${block}\n${tenant}` }
}
