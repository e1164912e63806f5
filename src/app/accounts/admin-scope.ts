import { isOperator, type QueryScope, type TokenKind } from '../../domain/token/events.ts'
import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'

/** The accounts and tokens that a caller manages: those of one user, of a tenant, or all. */
export type AdminScope =
  | { readonly kind: 'user'; readonly tenantId: string; readonly userId: string }
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'all' }

/** The fields of a token that decide its own rights. */
interface Authority {
  readonly kind: TokenKind
  readonly scope: QueryScope | undefined
}

/** The scope of an admin token: all tenants for an operator's, otherwise its own tenant. */
export function scopeOfAdminToken(token: Authority & { readonly tenantId: string }): AdminScope {
  return isOperator(token) ? { kind: 'all' } : { kind: 'tenant', tenantId: token.tenantId }
}

/**
 * Whether the caller may see this owner's records; invisible ones read exactly like missing ones
 * (P8).
 */
export function isWithin(
  adminScope: AdminScope,
  owner: { readonly tenantId: string; readonly userId?: string },
): boolean {
  switch (adminScope.kind) {
    case 'all':
      return true
    case 'tenant':
      return adminScope.tenantId === owner.tenantId
    case 'user':
      return adminScope.tenantId === owner.tenantId && adminScope.userId === owner.userId
    default:
      return unreachable(adminScope)
  }
}

/** @throws DomainError `scope_denied` */
function deny(param: string, message: string): never {
  throw new DomainError('scope_denied', message, { param })
}

/**
 * Refuses to manage a token with more rights than its manager, who would get them with its next
 * secret. @throws DomainError `scope_denied`
 */
export function requireManageable(adminScope: AdminScope, managed: Authority): void {
  if (adminScope.kind === 'all') return
  const { kind, scope } = managed
  const spansTenants = isOperator(managed) || scope?.level === 'all_tenants'
  if (spansTenants) deny('scope', 'Only an operator manages a token that spans tenants')
  if (adminScope.kind === 'tenant') return
  if (kind === 'admin') deny('kind', 'Only an admin token manages admin tokens')
  if (scope !== undefined && scope.level !== 'current_user')
    deny('scope', 'A profile token can only issue tokens with the scope current_user')
}

/** As `requireManageable`, for a new token. @throws DomainError `scope_denied` */
export function requireIssuable(adminScope: AdminScope, asked: Authority): void {
  requireManageable(adminScope, asked)
  if (adminScope.kind === 'user' && asked.kind === 'profile')
    deny('kind', 'A profile token can only issue model and query tokens')
}

/** @throws DomainError `scope_denied` for all but operators */
export function requireOperator(adminScope: AdminScope): void {
  if (adminScope.kind !== 'all')
    throw new DomainError('scope_denied', "This needs an operator's admin token", {})
}
