import { toQuantity, type Currency, type Quantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

/** Settled lines that differ at most in price and amount. */
interface PricedLines {
  readonly sku: string
  readonly currency: Currency
  readonly unit: string
  /** The quantity of each line. */
  readonly quantity: Quantity
  readonly lines: number
  /** Canonical decimal string: the settled price of all of them. */
  readonly amount: string
  /**
   * Revision of the tenant's account prices that the price came from; null: the price is that of
   * the book.
   */
  readonly accountPrices: number | null
}

/** Lines per read: even if no two are equal, a process serves other requests between reads. */
const PAGE_LINES = 2_000
/** Tenants per read. */
const PAGE_TENANTS = 1_000

/**
 * A tenant's lines settled from one time on, up to and without another, in pages: the oldest first, equal ones of a page
 * together. Lines are only ever added, so no snapshot is held meanwhile.
 */
export async function* pricedLines(
  db: Queryable,
  range: { readonly tenantId: string; readonly fromMs: number; readonly toMs: number },
  pageLines = PAGE_LINES,
): AsyncGenerator<readonly PricedLines[]> {
  let after = { settledAt: new Date(range.fromMs), seq: '0' }
  for (;;) {
    const { rows } = await db.query<
      Omit<PricedLines, 'quantity'> & {
        readonly quantity: string
        /** The place of the page's last line. */
        readonly settledAt: Date
        readonly seq: string
      }
    >({
      name: 'ledger.lines.priced',
      text: `with page as materialized (
               select sku, currency, unit, quantity, amount, account_prices, settled_at, seq
               from ledger.lines
               where tenant_id = $1 and (settled_at, seq) > ($2::timestamptz, $3::bigint)
                 and settled_at < $4::timestamptz
               order by settled_at, seq limit $5)
             select page.sku, page.currency, page.unit, page.quantity,
                    page.account_prices as "accountPrices", count(*)::integer as lines,
                    trim_scale(sum(page.amount))::text as amount,
                    last.settled_at as "settledAt", last.seq
             from page, (select settled_at, seq from page
                         order by settled_at desc, seq desc limit 1) as last
             group by page.sku, page.currency, page.unit, page.quantity, page.account_prices,
                      last.settled_at, last.seq`,
      values: [range.tenantId, after.settledAt, after.seq, new Date(range.toMs), pageLines],
    })
    const [last] = rows
    if (last === undefined) return
    yield rows.map(({ quantity, ...line }) => ({ ...line, quantity: toQuantity(quantity) }))
    if (rows.reduce((sum, { lines }) => sum + lines, 0) < pageLines) return
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
