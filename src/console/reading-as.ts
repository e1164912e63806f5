import type { FastifyRequest } from 'fastify'
import { RequestError } from '../api/kit/request-error.ts'
import type { Principal } from '../app/access/principal.ts'
import { hrefOf } from './kit/href.ts'

/** An administrator reads what it administers, as a query token of its scope would. */
export function readingAs(principal: Principal): Principal {
  if (principal.kind === 'query') return principal
  return { ...principal, kind: 'query', scope: principal.scope ?? { level: 'all_tenants' } }
}

/** The form that must be sent before a page of a tenant; undefined: none must. */
export function lookBefore(
  { method, url, viewedTenants }: Pick<FastifyRequest, 'method' | 'url' | 'viewedTenants'>,
  token: Principal,
  tenantId: string | undefined,
): string | undefined {
  const isOutside = readingAs(token).scope?.level === 'all_tenants' && token.tenantId !== tenantId
  if (tenantId === undefined || !isOutside || viewedTenants.includes(tenantId)) return undefined
  // A form is sent to an address below its page, which no browser can open.
  const next = method === 'POST' ? url.slice(0, url.lastIndexOf('/')) : url
  return hrefOf('/look', { tenant_id: tenantId, next })
}

/** Refuses a session of a query token where the API refuses the token. @throws RequestError */
export function requireAdminSession({ kind }: Pick<Principal, 'kind'>, shown: string): void {
  if (kind === 'admin') return
  throw new RequestError('wrong_token_kind', `${shown} are shown to sessions of an admin token`)
}
