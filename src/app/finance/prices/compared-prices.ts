import type { PublishedPriceBook } from '../../../../projections/prices/query.ts'
import { type AccountPrices, bookForAccount } from '../../../domain/pricing/account-prices.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import type { SoldPrice } from '../../../domain/pricing/price-book.ts'
import { priceChangePercent } from '../../../domain/pricing/price-change.ts'
import type { Currency } from '../../../kernel/money.ts'

/** What a tenant pays for a SKU, beside the list. */
export interface ComparedPrice {
  readonly sku: string
  readonly currency: Currency
  /** Undefined: the list has none. */
  readonly list: PriceEntry | undefined
  /** Undefined: the list price times the multiplier is too large to be one. */
  readonly tenant: SoldPrice | undefined
  /** By how much the tenant's is dearer, in per cent; undefined where that cannot be said. */
  readonly percent: string | undefined
}

/**
 * A tenant's own prices beside those of the book in effect; with `all` every price of the book too.
 *
 * @param book undefined: none is in effect
 */
export function comparedPrices(
  book: PublishedPriceBook | undefined,
  prices: AccountPrices,
  all: boolean,
): readonly ComparedPrice[] {
  const ofBook = book?.entries ?? []
  const known = new Set(ofBook.map(keyOf))
  const others = prices.prices.filter((entry) => !known.has(keyOf(entry)))
  const tenants = bookForAccount(book ?? { version: '', lookup: () => undefined }, prices)
  return (all ? [...ofBook, ...others] : prices.prices).map(({ sku, currency }) => {
    const list = book?.lookup(sku, currency)
    const tenant = tenants.lookup(sku, currency)
    const percent = list && tenant && priceChangePercent(list, tenant)
    return { sku, currency, list, tenant, percent }
  })
}

function keyOf({ sku, currency }: PriceEntry): string {
  return `${currency} ${sku}`
}
