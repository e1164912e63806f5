import { parseAmount } from '../../kernel/money.ts'
import type { PriceBook } from './price-book.ts'
import type { Quote, Settlement } from './settlement.ts'

/**
 * A result that costs more than this multiple of its hold, or has more than this multiple of the
 * units that the hold was computed of, is not settled: a hold covers the largest result that the
 * request allows, and assumptions, such as the length of a reference, are not further off.
 */
const HOLDS_OF_A_RESULT = 4n

/** Tokens of reference pictures, which the hold of a picture request does not include. */
const TOKENS_BEYOND_HOLD = 1_000_000n

const UNIT_PICO = parseAmount('1')

/** Every SKU costs 1 for each unit: a hold at these prices is a number of units. */
const countingBook: PriceBook = {
  version: 'units',
  lookup: (sku, currency) => ({ sku, currency, unit: 'unit', price: '1', per: 1 }),
}

/** The number of units that the hold of a request is computed of, whatever their prices. */
export function unitsHeld(quote: (book: PriceBook) => Pick<Quote, 'hold'>): bigint {
  return parseAmount(quote(countingBook).hold) / UNIT_PICO
}

/**
 * Whether a settlement is more than its request can cost, in money or in units: then the reported
 * usage is not believed. Money alone bounds nothing at a price of zero.
 */
export function isAboveCeiling(
  { hold }: Pick<Quote, 'hold'>,
  { amount, lines }: Pick<Settlement, 'amount' | 'lines'>,
  heldUnits: bigint,
): boolean {
  if (parseAmount(amount) > HOLDS_OF_A_RESULT * parseAmount(hold)) return true
  const units = lines.reduce((sum, { quantity }) => sum + BigInt(quantity), 0n)
  const beyond = lines.some(({ unit }) => unit === 'token') ? TOKENS_BEYOND_HOLD : 0n
  return units > HOLDS_OF_A_RESULT * heldUnits + beyond
}
