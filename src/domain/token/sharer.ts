import type { Sharer } from '../../kernel/sharers.ts'
import { isOperator, type QueryScope, type TokenKind } from './events.ts'

/**
 * Whose use of what is bounded a request counts as: that of its user and its tenant. A token of an
 * operator, which serves all tenants, counts by itself.
 */
export function sharerOf({
  tokenId,
  tenantId,
  userId,
  kind,
  scope,
}: {
  readonly tokenId: string
  readonly tenantId: string
  readonly userId: string
  readonly kind: TokenKind
  readonly scope?: QueryScope | undefined
}): Sharer {
  if (isOperator({ kind, scope }) || scope?.level === 'all_tenants')
    return { user: `token\n${tokenId}`, tenant: `operator\n${tokenId}` }
  return { user: `user\n${tenantId}\n${userId}`, tenant: `tenant\n${tenantId}` }
}
