import type { FastifyRequest } from 'fastify'
import { RequestError } from '../../api/kit/request-error.ts'
import type { Principal } from '../../app/access/principal.ts'
import { scopeOfAdminToken, type AdminScope } from '../../app/accounts/admin-scope.ts'
import { isOperator } from '../../domain/token/events.ts'
import { viewReasonHref } from '../kit/href.ts'

/** An administrator reads what it administers, as a query token of its scope would. */
export function readingAs(principal: Principal): Principal {
  if (principal.kind === 'query') return principal
  return { ...principal, kind: 'query', scope: principal.scope ?? { level: 'all_tenants' } }
}

/** Whether a session sees tenants that its token is not of. */
export function seesOtherTenants(token: Principal): boolean {
  return readingAs(token).scope?.level === 'all_tenants'
}

/** Whether a session saves views: it sees a whole tenant, so that the filters of others show it nothing new. */
export function savesViews(token: Principal): boolean {
  const { level } = readingAs(token).scope ?? {}
  return level === 'all_users' || level === 'all_tenants'
}

/** Whether a session sees the state of the gateway: that of an operator without a role. */
export function seesOperations(token: Principal): boolean {
  return isOperator(token) && token.role === undefined
}

/** Members of queries that name something of one tenant. */
const ofOneTenant = ['user_id', 'token_id', 'source_id', 'request_id', 'end_user'] as const
type Naming = { readonly [Name in (typeof ofOneTenant)[number]]?: string | undefined } & {
  readonly tenant_id?: string | undefined
}

/** Whether a query names something of one tenant, and not the tenant itself. */
export function namesOfOneTenant(query: Naming): boolean {
  return query.tenant_id === undefined && ofOneTenant.some((name) => query[name] !== undefined)
}

/** The tenants that a list is about: none where it was asked for all of them. */
export function tenantsShown(
  query: Naming,
  rows: readonly { readonly tenant_id: string }[],
): readonly (string | undefined)[] {
  return namesOfOneTenant(query) ? rows.map((row) => row.tenant_id) : [query.tenant_id]
}

/** The form that must be sent before a page of tenants, the first of them first; undefined: none must. */
export function viewReasonBefore(
  { method, url, viewedTenants }: Pick<FastifyRequest, 'method' | 'url' | 'viewedTenants'>,
  token: Principal,
  tenantIds: readonly (string | undefined)[],
): string | undefined {
  if (!seesOtherTenants(token)) return undefined
  const tenantId = tenantIds.find(
    (id) => id !== undefined && id !== token.tenantId && !viewedTenants.includes(id),
  )
  if (tenantId === undefined) return undefined
  // A form is sent to an address below its page, which no browser can open.
  const next = method === 'POST' ? url.slice(0, url.lastIndexOf('/')) : url
  return viewReasonHref({ tenant_id: tenantId, next })
}

/** The scope of a session of an admin token. @throws RequestError where the API refuses a query token */
export function adminScopeOfSession(token: Principal, shown: string): AdminScope {
  if (token.kind === 'admin') return scopeOfAdminToken(token)
  throw new RequestError(
    'wrong_token_kind',
    `${shown} are shown only to sessions of an admin token`,
  )
}
