import type { FastifyRequest } from 'fastify'
import type { FreeRequests } from '../../app/spending/throttle/free-requests.ts'
import { addressBlock } from '../../kernel/address-ranges.ts'
import { createLru } from '../../kernel/lru.ts'

/** Tokens remembered of which a request was refused for its form; the oldest are evicted first. */
const MAX_TOKENS = 20_000

/**
 * Paces requests that are refused before their work begins: for a body that is not valid, without a
 * known token. They are counted by the caller's address (for IPv6 its /64) and token together, so
 * that neither a neighbour behind the same address nor another user of the same token is refused
 * for them. Requests without a known token are counted by the address alone.
 */
export interface RefusedForms {
  /** For a request with a token, or one that is about to be refused. @throws DomainError `rate_limited` */
  readonly check: (request: FastifyRequest) => Promise<never> | undefined
  readonly count: (request: FastifyRequest) => void
}

export function createRefusedForms(limit: Pick<FreeRequests, 'begin' | 'count'>): RefusedForms {
  // Nearly every request has a token of which none was refused: it needs no look at its address.
  const noisy = createLru<string, true>(MAX_TOKENS)
  return {
    check: (request) => {
      const tokenId = request.principal?.tokenId
      if (tokenId !== undefined && !noisy.has(tokenId)) return undefined
      return limit.begin(keyOf(request, tokenId))
    },
    count: (request) => {
      const tokenId = request.principal?.tokenId
      if (tokenId !== undefined) noisy.set(tokenId, true)
      limit.count(keyOf(request, tokenId))
    },
  }
}

/** A request whose caller has disconnected has no address, although its type says that it has one. */
function keyOf({ ip }: { readonly ip?: string }, tokenId = ''): string {
  return `${addressBlock(ip ?? '')}\n${tokenId}`
}
