import type { Catalog, ServedModel } from '../catalog/catalog.ts'
import { type BilledSku, type PriceBook, unpricedSkus } from './price-book.ts'

/** A served model for which the book lacks a price. */
export interface UnpricedModel extends ServedModel {
  /** SKUs without a price: the gateway refuses requests that need one. */
  readonly skus: readonly string[]
}

/**
 * Served models some of whose requests a book has no price for. Tools that a request may offer are
 * not checked: without a price, only requests with that tool are refused.
 */
export function unpricedModels(
  catalog: Catalog,
  served: readonly ServedModel[],
  book: PriceBook,
): readonly UnpricedModel[] {
  return served.flatMap(({ family, model }) => {
    const skus = unpricedSkus(catalog.billedSkus({ family, model }, book, []), book)
    return skus.length === 0 ? [] : [{ family, model, skus }]
  })
}

/** A served model whose requests need prices that a book lacks. */
export interface LackingModel {
  readonly model: string
  readonly lacking: readonly BilledSku[]
  /** The book has none of its prices. */
  readonly hasNone: boolean
}

/**
 * Prices that served models need and a book lacks. Some are only known once others are there, such
 * as that of an output: they count as well.
 */
export function lackingPrices(
  catalog: Catalog,
  served: readonly ServedModel[],
  book: PriceBook,
): readonly LackingModel[] {
  return served.flatMap(({ family, model }) => {
    const lacking = new Map<string, BilledSku>()
    const completed: PriceBook = {
      version: book.version,
      lookup: (sku, currency) => {
        const missing = lacking.get(`${currency} ${sku}`)
        return missing ? { ...missing, per: 1, price: '0' } : book.lookup(sku, currency)
      },
    }
    let billed: readonly BilledSku[] = []
    for (let before = -1; lacking.size > before;) {
      before = lacking.size
      billed = catalog.billedSkus({ family, model }, completed, [])
      const skus = new Set(unpricedSkus(billed, completed))
      for (const one of billed)
        if (skus.has(one.sku)) lacking.set(`${one.currency} ${one.sku}`, one)
    }
    if (lacking.size === 0) return []
    const needed = billed.filter(({ optional }) => optional !== true)
    return [{ model, lacking: [...lacking.values()], hasNone: lacking.size === needed.length }]
  })
}
