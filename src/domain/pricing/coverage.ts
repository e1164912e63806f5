import { isDomainError } from '../../kernel/errors.ts'
import { isTextFamily } from '../families/text/models.ts'
import { taskFamily } from '../families/tasks.ts'
import type { PriceBook } from './price-book.ts'
import { quoteText } from '../families/text/pricing.ts'

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
  if (isTextFamily(family)) {
    try {
      quoteText(name, family, [], book)
      return []
    } catch (error) {
      if (isDomainError(error, 'price_not_configured')) return [String(error.details['sku'])]
      throw error
    }
  }
  const rules = taskFamily(family)
  if (rules.resolve(name) === undefined) return []
  return rules
    .prices(name)
    .filter(({ sku, currency }) => book.lookup(sku, currency) === undefined)
    .map(({ sku }) => sku)
}
