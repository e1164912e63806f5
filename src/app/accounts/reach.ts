import type { QueryScope, TokenKind } from '../../domain/token/events.ts'
import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'

/** Whose accounts and tokens somebody manages: a user's own, those of a tenant, or all. */
export type Reach =
  | { readonly kind: 'user'; readonly tenantId: string; readonly userId: string }
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'all' }

/** What of a token decides how far it reaches itself. */
interface Authority {
  readonly kind: TokenKind
  readonly scope: QueryScope | undefined
}

/** How far an admin token reaches: one that is not bound to its tenant is an operator's. */
export function reachOfAdmin(token: {
  readonly tenantId: string
  readonly scope: QueryScope | undefined
}): Reach {
  const { tenantId, scope } = token
  if (scope === undefined || scope.level === 'all_tenants') return { kind: 'all' }
  return { kind: 'tenant', tenantId }
}

/** Whether a record of this owner can be seen at all; what cannot reads exactly like none (P8). */
export function isWithin(
  reach: Reach,
  owner: { readonly tenantId: string; readonly userId?: string },
): boolean {
  switch (reach.kind) {
    case 'all':
      return true
    case 'tenant':
      return reach.tenantId === owner.tenantId
    case 'user':
      return reach.tenantId === owner.tenantId && reach.userId === owner.userId
    default:
      return unreachable(reach)
  }
}

/** @throws DomainError `scope_denied` */
function deny(param: string, message: string): never {
  throw new DomainError('scope_denied', message, { param })
}

/**
 * Refuses a token that could do more than whoever manages it: with its next secret that would be
 * theirs. @throws DomainError `scope_denied`
 */
export function requireManageable(reach: Reach, { kind, scope }: Authority): void {
  if (reach.kind === 'all') return
  const spansTenants = scope?.level === 'all_tenants' || (kind === 'admin' && scope === undefined)
  if (spansTenants) deny('scope', 'A token that spans tenants is managed by an operator alone')
  if (reach.kind === 'tenant') return
  if (kind === 'admin') deny('kind', 'An admin token is managed with an admin token alone')
  if (scope !== undefined && scope.level !== 'current_user')
    deny('scope', 'With a profile token a scope can only be current_user')
}

/** As `requireManageable`, of a token that is to be made. @throws DomainError `scope_denied` */
export function requireIssuable(reach: Reach, asked: Authority): void {
  requireManageable(reach, asked)
  if (reach.kind === 'user' && asked.kind === 'profile')
    deny('kind', 'A profile token issues model and query tokens alone')
}

/** @throws DomainError `scope_denied` for all but operators */
export function requireOperator(reach: Reach): void {
  if (reach.kind !== 'all')
    throw new DomainError('scope_denied', 'This needs an admin token of an operator', {})
}
