import { toQuantity, type Currency, type Per, type Quantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

/** What of a settled line its price made; decimals canonical. */
interface PricedLine {
  readonly sku: string
  readonly currency: Currency
  readonly unit: string
  readonly quantity: Quantity
  readonly price: string
  readonly per: Per
  readonly amount: string
  /** Revision of the tenant's account prices that the price came from; null: that of the book. */
  readonly accountPrices: number | null
}

/** Lines read at once. */
const PAGE_LINES = 5_000
/** Tenants read at once. */
const PAGE_TENANTS = 1_000

/**
 * A tenant's lines settled from one time on, up to and without another, in pages: the oldest first.
 * Lines are only ever added, so no snapshot is held meanwhile.
 */
export async function* pricedLines(
  db: Queryable,
  range: { readonly tenantId: string; readonly fromMs: number; readonly toMs: number },
): AsyncGenerator<readonly PricedLine[]> {
  let after = { settledAt: new Date(range.fromMs), seq: '0' }
  for (;;) {
    const { rows } = await db.query<
      Omit<PricedLine, 'quantity'> & {
        readonly quantity: string
        readonly settledAt: Date
        readonly seq: string
      }
    >({
      name: 'ledger.lines.priced',
      text: `select sku, currency, unit, quantity, trim_scale(price)::text as price, per,
                    trim_scale(amount)::text as amount, account_prices as "accountPrices",
                    settled_at as "settledAt", seq
             from ledger.lines
             where tenant_id = $1 and (settled_at, seq) > ($2::timestamptz, $3::bigint)
               and settled_at < $4::timestamptz
             order by settled_at, seq limit $5`,
      values: [range.tenantId, after.settledAt, after.seq, new Date(range.toMs), PAGE_LINES],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(({ quantity, ...line }) => ({ ...line, quantity: toQuantity(quantity) }))
    if (rows.length < PAGE_LINES) return
    after = { settledAt: last.settledAt, seq: last.seq }
  }
}

/** Tenants the ledger knows, by id, in pages. */
export async function* ledgerTenants(db: Queryable): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const { rows } = await db.query<{ readonly tenant_id: string }>({
      name: 'ledger.tenants',
      text: `select distinct tenant_id from ledger.balances where tenant_id > $1
             order by tenant_id limit $2`,
      values: [after, PAGE_TENANTS],
    })
    for (const row of rows) yield row.tenant_id
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_TENANTS) return
    after = last.tenant_id
  }
}
