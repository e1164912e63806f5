import { userKey } from '../../../projections/access/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'

interface Owner {
  readonly tenantId: string
  readonly userId?: string | undefined
  readonly tokenId?: string | undefined
}

/** The present names of an owner; undefined where there is none, or the token may not read it. */
export interface OwnerNames {
  readonly tenant: string | undefined
  readonly user: string | undefined
  readonly token: string | undefined
}

/**
 * Reads the names of the tenant, user and token that a record of this scope belongs to.
 * @throws what the database throws
 */
export async function readOwnerNames(
  { queries: { accounts } }: Pick<QueryServices, 'queries'>,
  principal: Principal,
  { tenantId, userId, tokenId }: Owner,
): Promise<OwnerNames> {
  const visible = visibleTo(principal)
  if (visible.tenantId !== undefined && visible.tenantId !== tenantId)
    return { tenant: undefined, user: undefined, token: undefined }
  const user = userId === undefined ? undefined : { tenantId, userId }
  const names = await accounts.names({
    tenants: [tenantId],
    users: user === undefined ? [] : [user],
    tokens: tokenId === undefined ? [] : [tokenId],
  })
  return {
    tenant: names.tenants.get(tenantId),
    user: user && names.users.get(userKey(user)),
    token: tokenId === undefined ? undefined : names.tokens.get(tokenId),
  }
}
