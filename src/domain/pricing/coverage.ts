import type { Catalog, ServedModel } from '../catalog/catalog.ts'
import { type PriceBook, unpricedSkus } from './price-book.ts'

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
