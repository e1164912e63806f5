import { sharerOf } from '../../../../src/domain/token/sharer.ts'
import type { Sharer } from '../../../../src/kernel/sharers.ts'

/** A user of a tenant, as its calls count. */
export function sharerIn(tenantId: string, userId = 'user_1'): Sharer {
  return sharerOf({ tokenId: 'token_1', tenantId, userId, kind: 'model' })
}
