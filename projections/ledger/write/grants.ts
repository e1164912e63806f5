import type { PoolClient } from 'pg'
import { formatAmount } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { Grant } from '../fold/change.ts'

/** Inserts grants. */
export async function insertGrants(client: PoolClient, grants: readonly Grant[]): Promise<void> {
  if (grants.length === 0) return
  const text = (of: (grant: Grant) => string | undefined): string => textColumn(grants.map(of))
  await client.query({
    name: 'ledger.grants',
    text: `insert into grants
             (position, grant_id, tenant_id, currency, amount, reason, actor, granted_at)
           select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::numeric[],
                                $6::text[], $7::text[], $8::timestamptz[])`,
    values: [
      plainColumn(grants.map(({ position }) => position)),
      text(({ grantId }) => grantId),
      text(({ tenantId }) => tenantId),
      text(({ currency }) => currency),
      text(({ amountPico }) => formatAmount(amountPico)),
      text(({ reason }) => reason),
      text(({ actor }) => actor),
      text(({ grantedAt }) => grantedAt),
    ],
  })
}
