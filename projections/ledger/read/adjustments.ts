import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

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
