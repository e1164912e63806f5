import { Type } from '@sinclair/typebox'
import { canonicalPrice, parseAmount } from '../../kernel/money.ts'
import { type PriceEntry, PriceEntrySchema } from '../pricing/events.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import { members, priceBookDigest, priceEntriesFrom } from '../pricing/price-book-document.ts'
import { MultiplierSchema } from '../pricing/settlement.ts'
import { accountSetting, invalidSetting } from './setting.ts'

/** The prices a tenant shall have: all of them. */
export interface WantedAccountPrices {
  /** Decimal string; undefined: list prices are not multiplied. */
  readonly multiplier?: string | undefined
  /** Own prices of single SKUs, each at most once in a currency. */
  readonly prices: readonly PriceEntry[]
  /** The books in effect and to come, to see whether the tenant pays less; undefined: none is read. */
  readonly books?: readonly PriceBook[] | undefined
}

/** Keeps the event well under the log's 1 MiB an append. */
export const maxAccountPrices = 1_000
/** A larger factor is a slip of the decimal point. */
const MAX_MULTIPLIER = '100'

const refuse: (param: string, message: string) => never = invalidSetting('account_prices')

/** Whether these are the list's own prices. */
export function isListPrices({ multiplier, prices }: WantedAccountPrices): boolean {
  return multiplier === undefined && prices.length === 0
}

/** The terms of the setting, as its event and a proposal of it have them. */
export const priceTerms = {
  /** Factor for list prices; absent: none. */
  multiplier: Type.Optional(MultiplierSchema),
  /** Own prices of single SKUs: not multiplied. */
  prices: Type.Array(PriceEntrySchema),
  /** Versions of the price books they were compared with; absent: no approval was required. */
  comparedWith: Type.Optional(Type.Array(Type.String())),
} as const

export const accountPrices = accountSetting({
  code: 'account_prices',
  title: 'prices',
  lookAgain: 'look again at what changes',
  type: 'AccountPricesSet',
  takesReason: true,
  terms: priceTerms,
  namesPerson: true,
  none: { prices: [] },
  canonical: ({ multiplier: factor, prices, books }: WantedAccountPrices) => {
    const multiplier = canonicalMultiplier(factor)
    checkPrices(prices)
    return {
      ...(multiplier === undefined ? {} : { multiplier }),
      prices: prices.map((entry) => ({ ...entry, price: canonicalPrice(entry.price) })),
      ...(books === undefined ? {} : { comparedWith: books.map(({ version }) => version) }),
    }
  },
  fingerprint: ({ multiplier = '', prices }) => `${multiplier} ${priceBookDigest(prices)}`,
  operatorsOnly: 'all',
  words: ({ revision, multiplier, prices }) =>
    multiplier === undefined && prices.length === 0
      ? `list prices${revision === 0 ? '' : ' again'} (${revision})`
      : `${multiplier === undefined ? '' : `list × ${multiplier}, `}${prices.length} own prices (${revision})`,
})

/**
 * Reads an already parsed YAML value: `multiplier` (a quoted decimal) and `prices`, each with the
 * members of one in a price book. Either may be left out.
 *
 * @throws DomainError `price_book_invalid` and `setting_invalid`, naming the place
 */
export function accountPricesFromDocument(value: unknown): WantedAccountPrices {
  const document = members(value, 'the account prices', ['multiplier', 'prices'])
  const { multiplier, prices = [] } = document
  if (multiplier !== undefined && typeof multiplier !== 'string')
    return refuse('multiplier', 'must be a quoted decimal, e.g. "0.85"')
  return { multiplier, prices: priceEntriesFrom(prices, maxAccountPrices) }
}

function checkPrices(prices: readonly PriceEntry[]): void {
  if (prices.length > maxAccountPrices)
    return refuse('prices', `at most ${maxAccountPrices} prices of one tenant`)
  const seen = new Set<string>()
  for (const { sku, currency, demonstration } of prices) {
    if (demonstration === true) refuse(sku, "a tenant's price cannot be a demonstration price")
    if (seen.has(`${currency} ${sku}`)) refuse(sku, `two prices in ${currency}`)
    seen.add(`${currency} ${sku}`)
  }
}

function canonicalMultiplier(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (
    !/^(?:0|[1-9]\d{0,2})(?:\.\d{1,6})?$/.test(text) ||
    parseAmount(text) > parseAmount(MAX_MULTIPLIER)
  )
    return refuse(
      'multiplier',
      `must be a decimal from 0 to ${MAX_MULTIPLIER} of at most 6 decimals, e.g. "0.85"`,
    )
  return canonicalPrice(text)
}
