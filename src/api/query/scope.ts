import type { Principal } from '../../app/access/principal.ts'
import { DomainError } from '../../kernel/errors.ts'
import { unreachable } from '../../kernel/assert.ts'

/** Owners whose records a query token may read; absent means any. */
export interface Visible {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
}

/** The records that the token's scope level opens; without a level, those of its user. */
export function visibleTo(principal: Principal): Visible {
  const { tenantId, userId } = principal
  const scope = principal.scope ?? { level: 'current_user' }
  switch (scope.level) {
    case 'current_user':
      return { tenantId, userIds: [userId] }
    case 'specified_users':
      return { tenantId, userIds: scope.userIds }
    case 'all_users':
      return { tenantId, userIds: undefined }
    case 'all_tenants':
      return { tenantId: undefined, userIds: undefined }
    default:
      return unreachable(scope)
  }
}

function denied(param: string): DomainError {
  return new DomainError('scope_denied', `This token may not read that ${param}`, { param })
}

/**
 * Narrows the scope to the requested records. @throws DomainError `scope_denied` if they are
 * outside
 */
export function narrow(
  visible: Visible,
  asked: { readonly tenantId: string | undefined; readonly userId: string | undefined },
): Visible {
  const { tenantId, userId } = asked
  if (tenantId !== undefined && visible.tenantId !== undefined && tenantId !== visible.tenantId)
    throw denied('tenant_id')
  if (userId !== undefined && visible.userIds !== undefined && !visible.userIds.includes(userId))
    throw denied('user_id')
  return {
    tenantId: visible.tenantId ?? tenantId,
    userIds: userId === undefined ? visible.userIds : [userId],
  }
}

/** @throws DomainError `scope_denied` if the token sees only some users of its tenant */
export function requireWholeTenant(principal: Principal, what: string): void {
  if (visibleTo(principal).userIds === undefined) return
  throw new DomainError(
    'scope_denied',
    `The ${what} of a tenant need a token of scope all_users`,
    {},
  )
}

/** Whether a record of this tenant and user lies inside the scope. */
export function sees(
  visible: Visible,
  owner: { readonly tenantId: string; readonly userId: string | undefined },
): boolean {
  return (
    (visible.tenantId === undefined || visible.tenantId === owner.tenantId) &&
    (visible.userIds === undefined ||
      (owner.userId !== undefined && visible.userIds.includes(owner.userId)))
  )
}
