import { DomainError } from '../../kernel/errors.ts'
import { canonicalPrice, parseAmount } from '../../kernel/money.ts'
import type { AccountPrices } from '../pricing/account-prices.ts'
import type { PriceEntry } from '../pricing/events.ts'
import { members, priceBookDigest, priceEntriesFrom } from '../pricing/price-book-document.ts'
import type { AccountEvent, AccountEventData } from './events.ts'

/** What a tenant's prices shall be from now on: all of them, not a change of some. */
export interface SetAccountPrices {
  readonly kind: 'set-prices'
  readonly tenantId: string
  /** Decimal string; undefined: list prices are not multiplied. */
  readonly multiplier?: string | undefined
  /** Own prices of single SKUs, each at most once in a currency. */
  readonly prices: readonly PriceEntry[]
  /** The revision that was looked at, 0 for none; absent: nobody looked. */
  readonly basis?: number | undefined
  /** RFC 3339. */
  readonly at: string
}

/** Keeps the event well under the log's 1 MiB an append. */
export const maxAccountPrices = 1_000
/** A larger factor is a slip of the decimal point. */
const MAX_MULTIPLIER = '100'

/** Whether these are the list's own prices. */
export function isListPrices({
  multiplier,
  prices,
}: Pick<AccountPrices, 'multiplier' | 'prices'>): boolean {
  return multiplier === undefined && prices.length === 0
}

/** The prices that an event sets. */
export function accountPricesOf({
  revision,
  multiplier,
  prices,
}: AccountEventData<'AccountPricesSet'>): AccountPrices {
  return { revision, multiplier, prices }
}

/**
 * Setting the same prices again decides to no event, and so does clearing those of a tenant that has
 * none.
 *
 * @throws DomainError `account_prices_invalid`, `account_prices_changed` when they were set since it
 *   was looked at what would change
 */
export function setPrices(
  { tenantId, prices, basis, at, ...said }: SetAccountPrices,
  current: AccountPrices | undefined,
): readonly AccountEvent[] {
  const revision = current?.revision ?? 0
  const multiplier = canonicalMultiplier(said.multiplier)
  checkPrices(prices)
  const before = current ?? { multiplier: undefined, prices: [] }
  const isSame =
    before.multiplier === multiplier && priceBookDigest(before.prices) === priceBookDigest(prices)
  // Also of a basis that is past: whoever sends it again has not seen the answer.
  if (isSame) return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'account_prices_changed',
      `the prices of this tenant were set in the meantime, to revision ${revision}: look again at what changes`,
      { tenantId, revision },
    )
  return [
    {
      type: 'AccountPricesSet',
      data: {
        tenantId,
        revision: revision + 1,
        ...(multiplier === undefined ? {} : { multiplier }),
        prices: prices.map((entry) => ({ ...entry, price: canonicalPrice(entry.price) })),
        setAt: at,
      },
    },
  ]
}

function checkPrices(prices: readonly PriceEntry[]): void {
  if (prices.length > maxAccountPrices)
    return refuse('prices', `at most ${maxAccountPrices} prices of one tenant's own`)
  const seen = new Set<string>()
  for (const { sku, currency, demonstration } of prices) {
    if (demonstration === true) refuse(sku, 'a price of a tenant is no demonstration')
    if (seen.has(`${currency} ${sku}`)) refuse(sku, `two prices in ${currency}`)
    seen.add(`${currency} ${sku}`)
  }
}

function canonicalMultiplier(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,3}(?:\.\d{1,6})?$/.test(text) || parseAmount(text) > parseAmount(MAX_MULTIPLIER))
    return refuse(
      'multiplier',
      `must be a decimal from 0 to ${MAX_MULTIPLIER} of at most 6 decimals, e.g. "0.85"`,
    )
  return canonicalPrice(text)
}

function refuse(at: string, message: string): never {
  throw new DomainError('account_prices_invalid', `${at}: ${message}`, { param: at })
}

/** A tenant's prices as a person writes them: all of them. */
export type AccountPricesDocument = Pick<SetAccountPrices, 'multiplier' | 'prices'>

const DOCUMENT_MEMBERS = ['multiplier', 'prices']

/**
 * Reads an already parsed YAML value: `multiplier` (a quoted decimal) and `prices`, each with the
 * members of one in a price book. Either may be left out.
 *
 * @throws DomainError `price_book_invalid` and `account_prices_invalid`, naming the place
 */
export function accountPricesFromDocument(value: unknown): AccountPricesDocument {
  const document = members(value, 'the account prices', DOCUMENT_MEMBERS)
  const { multiplier, prices = [] } = document
  if (multiplier !== undefined && typeof multiplier !== 'string')
    throw new DomainError(
      'account_prices_invalid',
      'multiplier: must be a quoted decimal, e.g. "0.85"',
      { param: 'multiplier' },
    )
  return { multiplier, prices: priceEntriesFrom(prices, maxAccountPrices) }
}
