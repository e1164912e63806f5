import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import type { PriceBookSource } from './price-book.ts'

/**
 * The prices of a source without its demonstrations, whoever published them: only the sandbox is
 * sold at those.
 */
export function withoutDemonstrationPrices(source: PriceBookSource): PriceBookSource {
  /** One for each book: quotes are kept by it. */
  const narrowed = new WeakMap<PriceBook, PriceBook>()
  return {
    current: async () => {
      const book = await source.current()
      const known = narrowed.get(book)
      if (known !== undefined) return known
      const made = narrow(book)
      narrowed.set(book, made)
      return made
    },
  }
}

function narrow(book: PriceBook): PriceBook {
  return {
    version: book.version,
    lookup: (sku, currency) => {
      const entry = book.lookup(sku, currency)
      return entry?.demonstration === true ? undefined : entry
    },
  }
}
