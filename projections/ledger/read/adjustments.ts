import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { type AdjustedLine, lineSelection, type LineRecord, toLine } from './list.ts'

/** Facts of a settled line that an adjustment is checked against. */
interface LineFacts {
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

/** A refund of a line as a receipt shows it; negative: a part of an earlier refund that is taken back. */
export interface LineRefund {
  readonly adjustmentId: string
  readonly lineId: string
  /** Signed decimal string: positive gave to the tenant. */
  readonly amount: string
  readonly reason: string
  readonly actor: string | null
  /** Decimal position in the log. */
  readonly position: string
  /** Unix milliseconds. */
  readonly postedAtMs: number
}

/**
 * Lines by their ids, in their order, with what was adjusted of them up to a position. A search by the task or call would walk the whole ledger in this
 * order where Postgres does not know yet how few lines one has.
 */
export async function linesByIds(
  db: Queryable,
  lineIds: readonly string[],
  asOf: bigint,
): Promise<readonly AdjustedLine[]> {
  if (lineIds.length === 0) return []
  const { rows } = await db.query<LineRecord & Pick<AdjustedLine, 'adjusted'>>({
    name: 'ledger.lines-by-ids',
    text: `select ${lineSelection},
             coalesce((select trim_scale(sum(a.amount)) from ledger.adjustments a
                       where a.line_id = l.line_id and a.position <= $2::bigint), 0)::text as adjusted
           from ledger.lines l where l.line_id = any($1::text[]) order by l.seq`,
    values: [lineIds, asOf],
  })
  return rows.map((row) => ({ ...toLine(row), adjusted: row.adjusted }))
}

/** Adjustments of lines up to a position, oldest first; at most `limit` are read. */
export async function refundsOfLines(
  db: Queryable,
  lineIds: readonly string[],
  { asOf, limit }: { readonly asOf: bigint; readonly limit: number },
): Promise<readonly LineRefund[]> {
  if (lineIds.length === 0) return []
  const { rows } = await db.query<Omit<LineRefund, 'postedAtMs'> & { posted_at: Date }>({
    name: 'ledger.corrections-of-lines',
    text: `select adjustment_id as "adjustmentId", line_id as "lineId", reason, actor, posted_at,
                  position::text as position, trim_scale(amount)::text as amount
           from ledger.adjustments where line_id = any($1::text[]) and position <= $3::bigint
           order by position limit $2`,
    values: [lineIds, limit, asOf],
  })
  return rows.map(({ posted_at: postedAt, ...row }) => ({
    ...row,
    postedAtMs: postedAt.getTime(),
  }))
}
