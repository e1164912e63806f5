import type { Sharer } from '../../kernel/sharers.ts'
import { isOperator, type QueryScope, type TokenKind } from './events.ts'

/**
 * The user and the tenant that the requests of a token count against. The token of an operator serves
 * all tenants, so it counts separately.
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
