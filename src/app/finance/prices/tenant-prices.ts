import { isListPrices } from '../../../domain/account/prices.ts'
import { type AccountPrices, bookForAccount } from '../../../domain/pricing/account-prices.ts'
import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import type { AccountFacts } from '../../accounts/account-facts.ts'
import type { PriceBookSource } from './price-book.ts'
import type { Quote, RatedSku } from '../../../domain/pricing/settlement.ts'

/** The prices of a tenant: the book in effect, with the tenant's own prices over it. */

export interface TenantPrices extends PriceBookSource {
  /**
   * The book in effect for this tenant. If the prices cannot be read, the request is refused: a
   * read failure must not lead to billing at list prices.
   *
   * @throws as `current`, and what the log throws
   */
  readonly of: (tenantId: string) => Promise<PriceBook>
}

export function createTenantPrices(
  list: PriceBookSource,
  facts: Pick<AccountFacts, 'of'>,
): TenantPrices {
  const views = createViews()
  return {
    current: list.current,
    renew: list.renew,
    of: async (tenantId) => {
      // The tenant's prices first, so that a book that comes into effect meanwhile counts.
      const { prices } = await facts.of(tenantId)
      return views(await list.current(), prices)
    },
  }
}

/** One view per book and set of prices, because quotes are cached by it. */
function createViews(): (book: PriceBook, prices: AccountPrices | undefined) => PriceBook {
  const made = new WeakMap<PriceBook, WeakMap<AccountPrices, PriceBook>>()
  return (book, prices) => {
    if (prices === undefined || isListPrices(prices)) return book
    const ofBook = made.get(book) ?? new WeakMap<AccountPrices, PriceBook>()
    made.set(book, ofBook)
    const view = ofBook.get(prices) ?? bookForAccount(book, prices)
    ofBook.set(prices, view)
    return view
  }
}

/** A request's possible cost: every SKU it can be settled at with its price, and its hold. */
export interface RequestQuote extends Readonly<Omit<Quote, 'candidates'>> {
  readonly candidates: readonly RatedSku[]
}
