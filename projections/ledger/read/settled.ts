import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

/** What a result was settled at. */
export interface SettledSource {
  readonly currency: Currency
  /** Decimal string. */
  readonly amount: string
  readonly priceBookVersion: string
  readonly lines: readonly { readonly sku: string; readonly amount: string }[]
}

interface SettledRecord {
  readonly currency: Currency
  readonly amount: string
  readonly sku: string
  readonly line_amount: string
  readonly price_book_version: string
}

/**
 * What a task or call was settled at; undefined while the ledger does not know it, and where it came to
 * no lines: those alone say by which book.
 */
export async function settledSource(
  db: Queryable,
  sourceId: string,
): Promise<SettledSource | undefined> {
  const { rows } = await db.query<SettledRecord>({
    name: 'ledger.settled-source',
    text: `select s.currency, trim_scale(s.amount)::text as amount, l.sku,
                  trim_scale(l.amount)::text as line_amount, l.price_book_version
           from ledger.settlements s join ledger.lines l using (source_id)
           where s.source_id = $1 order by l.seq`,
    values: [sourceId],
  })
  const [first] = rows
  if (first === undefined) return undefined
  return {
    currency: first.currency,
    amount: first.amount,
    priceBookVersion: first.price_book_version,
    lines: rows.map(({ sku, line_amount: amount }) => ({ sku, amount })),
  }
}
