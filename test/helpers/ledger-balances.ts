import type { Queryable } from '../../projections/engine/queryable.ts'
import { type Currency, parseAmount } from '../../src/kernel/money.ts'

/** The balance of a tenant in one currency by the ledger only; decimal strings. */
interface LedgerBalance {
  readonly currency: Currency
  /** Granted and adjusted. */
  readonly credit: string
  readonly settled: string
  readonly held: string
  readonly limit: string
  readonly available: string
  readonly availablePico: bigint
  /** Position of the last event that changed it. */
  readonly position: bigint
}

export async function balances(db: Queryable, tenantId: string): Promise<readonly LedgerBalance[]> {
  const { rows } = await db.query<Record<string, string> & { currency: Currency }>(
    `select currency, trim_scale(granted + adjusted)::text as credit,
            trim_scale(settled)::text as settled, trim_scale(held)::text as held,
            trim_scale(credit_limit)::text as limit,
            trim_scale(granted + adjusted + credit_limit - settled - held)::text as available,
            position
     from ledger.balances where tenant_id = $1 order by currency`,
    [tenantId],
  )
  return rows.map((row) => ({
    currency: row.currency,
    credit: row['credit'] ?? '',
    settled: row['settled'] ?? '',
    held: row['held'] ?? '',
    limit: row['limit'] ?? '',
    available: row['available'] ?? '',
    availablePico: parseAmount(row['available'] ?? ''),
    position: BigInt(row['position'] ?? ''),
  }))
}
