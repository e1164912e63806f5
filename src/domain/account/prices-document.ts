import { DomainError } from '../../kernel/errors.ts'
import { members, priceEntriesFrom } from '../pricing/price-book-document.ts'
import { maxAccountPrices, type SetAccountPrices } from './prices.ts'

/** A tenant's prices as a person writes them: all of them. */
export type AccountPricesDocument = Pick<SetAccountPrices, 'multiplier' | 'prices'>

const MEMBERS = ['multiplier', 'prices']

/**
 * Reads an already parsed YAML value: `multiplier` (a quoted decimal) and `prices`, each with the
 * members of one in a price book. Either may be left out.
 *
 * @throws DomainError `price_book_invalid` and `account_prices_invalid`, naming the place
 */
export function accountPricesFromDocument(value: unknown): AccountPricesDocument {
  const document = members(value, 'the account prices', MEMBERS)
  const { multiplier, prices = [] } = document
  if (multiplier !== undefined && typeof multiplier !== 'string')
    throw new DomainError(
      'account_prices_invalid',
      'multiplier: must be a quoted decimal, e.g. "0.85"',
      { param: 'multiplier' },
    )
  return { multiplier, prices: priceEntriesFrom(prices, maxAccountPrices) }
}
