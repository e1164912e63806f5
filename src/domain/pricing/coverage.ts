import { callFamilyOf } from '../families/calls.ts'
import { taskFamily } from '../families/tasks.ts'
import type { PriceBook } from './price-book.ts'

/** A model some channel serves. */
export interface ServedModel {
  readonly family: string
  /** External name. */
  readonly model: string
}

/** A served model that a book has not all prices of. */
export interface UnpricedModel extends ServedModel {
  /** SKUs without a price: requests that need one are refused. */
  readonly skus: readonly string[]
}

/**
 * Served models some of whose requests a book has no price for. Tools a request may offer are not
 * looked at: without a price they alone are refused.
 */
export function unpricedModels(
  served: readonly ServedModel[],
  book: PriceBook,
): readonly UnpricedModel[] {
  return served.flatMap(({ family, model }) => {
    const skus = missingSkus(family, model, book)
    return skus.length === 0 ? [] : [{ family, model, skus }]
  })
}

function missingSkus(family: string, name: string, book: PriceBook): readonly string[] {
  const calls = callFamilyOf(family)
  if (calls !== undefined) return calls.unpricedSkus(family, name, book)
  const rules = taskFamily(family)
  if (rules.resolve(name) === undefined) return []
  return rules
    .prices(name)
    .filter(({ sku, currency }) => book.lookup(sku, currency) === undefined)
    .map(({ sku }) => sku)
}
