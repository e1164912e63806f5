import type { Catalog, ServedModel } from '../catalog/catalog.ts'
import type { PriceBook } from './price-book.ts'

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
    const skus = missingSkus(catalog, family, model, book)
    return skus.length === 0 ? [] : [{ family, model, skus }]
  })
}

function missingSkus(
  catalog: Catalog,
  family: string,
  name: string,
  book: PriceBook,
): readonly string[] {
  const calls = catalog.callFamilyOf(family)
  if (calls !== undefined) return calls.unpricedSkus(name, book)
  const rules = catalog.taskFamily(family)
  if (rules.resolve(name) === undefined) return []
  return rules
    .prices(name)
    .filter(({ sku, currency }) => book.lookup(sku, currency) === undefined)
    .map(({ sku }) => sku)
}
