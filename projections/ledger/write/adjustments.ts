import type { PoolClient } from 'pg'
import { formatAmount } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { Adjustment } from '../fold/change.ts'

/** Inserts adjustments. */
export async function insertAdjustments(
  client: PoolClient,
  adjustments: readonly Adjustment[],
): Promise<void> {
  if (adjustments.length === 0) return
  const text = (of: (adjustment: Adjustment) => string | undefined): string =>
    textColumn(adjustments.map(of))
  await client.query({
    name: 'ledger.adjustments',
    text: `insert into adjustments
             (position, adjustment_id, tenant_id, currency, amount, line_id, grant_id, reason,
              actor, posted_at)
           select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::numeric[],
                                $6::text[], $7::text[], $8::text[], $9::text[],
                                $10::timestamptz[])`,
    values: [
      plainColumn(adjustments.map(({ position }) => position)),
      text(({ adjustmentId }) => adjustmentId),
      text(({ tenantId }) => tenantId),
      text(({ currency }) => currency),
      text(({ amountPico }) => formatAmount(amountPico)),
      text(({ corrects }) => (corrects.kind === 'line' ? corrects.lineId : undefined)),
      text(({ corrects }) => (corrects.kind === 'grant' ? corrects.grantId : undefined)),
      text(({ reason }) => reason),
      text(({ actor }) => actor),
      text(({ postedAt }) => postedAt),
    ],
  })
}
