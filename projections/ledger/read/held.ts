import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

/** What tasks under way hold, by whose they are. */
export interface HeldByOwner {
  readonly currency: Currency
  /** Undefined, as is the token, where the read model of tasks does not have them yet. */
  readonly userId: string | undefined
  readonly tokenId: string | undefined
  /** Exact decimal. */
  readonly amount: string
}

/** What a tenant's tasks hold at the moment. */
export async function heldByOwner(
  db: Queryable,
  tenantId: string,
): Promise<readonly HeldByOwner[]> {
  const { rows } = await db.query<{
    currency: Currency
    user_id: string | null
    token_id: string | null
    amount: string
  }>({
    name: 'ledger.held-by-owner',
    text: `select h.currency, t.user_id, t.token_id, sum(h.amount)::text as amount
           from ledger.holds h left join tasks.tasks t on t.platform_id = h.source_id
           where h.tenant_id = $1 and h.state = 'placed'
           group by h.currency, t.user_id, t.token_id`,
    values: [tenantId],
  })
  return rows.map(({ currency, user_id: userId, token_id: tokenId, amount }) => ({
    currency,
    userId: userId ?? undefined,
    tokenId: tokenId ?? undefined,
    amount,
  }))
}
