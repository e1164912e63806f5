import type { Queryable } from '../engine/queryable.ts'
import { lineColumns, toLine, type LineRecord, type SettledLine } from './list.ts'

/** Lines in the order of the log, a page after the line at `afterSeq` of the hash chain. */
export async function linesInLogOrder(
  db: Queryable,
  afterSeq: string,
  limit: number,
): Promise<readonly SettledLine[]> {
  const { rows } = await db.query<LineRecord>(
    `select ${lineColumns} from ledger.lines where seq > $1 order by seq limit $2`,
    [afterSeq, limit],
  )
  return rows.map(toLine)
}

export interface TenantBalance {
  readonly tenantId: string
  readonly currency: string
  /** Granted and adjusted; decimal strings. */
  readonly credit: string
  readonly settled: string
  readonly held: string
  readonly limit: string
}

/** Every balance there is. */
export async function allBalances(db: Queryable): Promise<readonly TenantBalance[]> {
  const { rows } = await db.query<TenantBalance>(
    `select tenant_id as "tenantId", currency, trim_scale(granted + adjusted)::text as credit,
            trim_scale(settled)::text as settled, trim_scale(held)::text as held,
            trim_scale(credit_limit)::text as limit
     from ledger.balances order by tenant_id, currency`,
  )
  return rows
}
