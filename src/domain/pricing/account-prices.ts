import { type Currency, multipliedPrice } from '../../kernel/money.ts'
import type { PriceEntry } from './events.ts'
import type { PriceBook, SoldPrice } from './price-book.ts'

/** A tenant's prices that differ from the list, as last set on the tenant's account. */
export interface AccountPrices {
  /** The revision of these prices, counted from 1; a settled line names it. */
  readonly revision: number
  /**
   * Factor for list prices; absent: none. It does not apply to the tenant's prices of single SKUs.
   */
  readonly multiplier?: string | undefined
  /** Own prices of single SKUs, whatever the list says of them. */
  readonly prices: readonly PriceEntry[]
}

/** Nine digits times any safe integer still fit the ledger: no price may be larger. */
const FITTING_PRICE = /^\d{1,9}(?:\.|$)/

/**
 * A price book for one tenant: the tenant's price of a SKU if there is one, otherwise the list
 * price times the multiplier. If the product is too large for a price, there is no price, and
 * requests that need it are refused.
 */
export function bookForAccount(
  book: PriceBook,
  { revision, multiplier, prices }: AccountPrices,
): PriceBook {
  const own = new Map(
    prices.map((entry): [string, SoldPrice] => [
      keyOf(entry.sku, entry.currency),
      { ...entry, accountPrice: { kind: 'own', revision } },
    ]),
  )
  return {
    version: book.version,
    list: book,
    lookup: (sku, currency) => {
      const price = own.get(keyOf(sku, currency))
      if (price !== undefined) return price
      const list = book.lookup(sku, currency)
      return list === undefined || multiplier === undefined
        ? list
        : multiplied(list, revision, multiplier)
    },
  }
}

function multiplied(list: SoldPrice, revision: number, multiplier: string): SoldPrice | undefined {
  const price = multipliedPrice(list.price, multiplier)
  if (!FITTING_PRICE.test(price)) return undefined
  const accountPrice = { kind: 'multiplied', revision, list: list.price, multiplier } as const
  return { ...list, price, accountPrice }
}

function keyOf(sku: string, currency: Currency): string {
  return `${currency} ${sku}`
}
