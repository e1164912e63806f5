import type { PoolClient } from 'pg'
import { formatAmount, type Currency } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { Queryable } from '../../engine/queryable.ts'
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

/** Of a settled line, what an adjustment is held against. */
export interface LineFacts {
  readonly lineId: string
  readonly tenantId: string
  readonly currency: Currency
  /** Decimal string. */
  readonly amount: string
}

/** A line by its id; undefined when the ledger has none. */
export async function lineFacts(db: Queryable, lineId: string): Promise<LineFacts | undefined> {
  const { rows } = await db.query<LineFacts>(
    `select line_id as "lineId", tenant_id as "tenantId", currency,
            trim_scale(amount)::text as amount
     from ledger.lines where line_id = $1`,
    [lineId],
  )
  return rows[0]
}

/** An adjustment as it is shown. */
export interface PostedAdjustment {
  readonly adjustmentId: string
  readonly currency: string
  /** Signed decimal string: positive gave to the tenant. */
  readonly amount: string
  /** One of the two: what it corrects. */
  readonly lineId: string | null
  readonly grantId: string | null
  readonly reason: string
  readonly actor: string | null
  /** RFC 3339. */
  readonly postedAt: string
}

/** A tenant's adjustments, newest first. */
export async function listAdjustments(
  db: Queryable,
  filter: { readonly tenantId: string; readonly limit: number },
): Promise<readonly PostedAdjustment[]> {
  const { rows } = await db.query<Omit<PostedAdjustment, 'postedAt'> & { posted_at: Date }>(
    `select adjustment_id as "adjustmentId", currency, trim_scale(amount)::text as amount,
            line_id as "lineId", grant_id as "grantId", reason, actor, posted_at
     from ledger.adjustments where tenant_id = $1 order by position desc limit $2`,
    [filter.tenantId, filter.limit],
  )
  return rows.map(({ posted_at: postedAt, ...row }) => ({
    ...row,
    postedAt: postedAt.toISOString(),
  }))
}
