/**
 * Exact money. An amount is a `bigint` count of 10⁻¹² of the currency's unit ("pico"); a price is a
 * decimal string with at most 6 decimals. Floats never touch either.
 */
export type Currency = 'CNY' | 'USD'
export const currencies: readonly Currency[] = ['CNY', 'USD']

/** A canonical decimal string: no exponent, no trailing zeros, `-` only before a non-zero value. */
type DecimalString = string

/** Number of units for which a price is quoted. */
export type Per = 1 | 1_000 | 1_000_000

/** Used amount in its unit: a non-negative safe integer, sums included. */
export type Quantity = number

const PICO_DIGITS = 12
const PRICE_DIGITS = 6
/** Pico in the last decimal of a price. */
const PICO_OF_PRICE = 10n ** BigInt(PICO_DIGITS - PRICE_DIGITS)

/** Digits before the point that an amount may have: columns of 26 then hold sums of 10^11 of them. */
export const MAX_AMOUNT_DIGITS = 15
const AMOUNT_BOUND_PICO = 10n ** BigInt(MAX_AMOUNT_DIGITS + PICO_DIGITS)

const DECIMAL = /^-?\d{1,26}(?:\.\d+)?$/

function parseScaled(text: string, digits: number): bigint {
  if (!DECIMAL.test(text)) throw new RangeError(`not a decimal: ${text}`)
  const dot = text.indexOf('.')
  const fraction = dot < 0 ? '' : text.slice(dot + 1)
  if (fraction.length > digits) throw new RangeError(`more than ${digits} decimals: ${text}`)
  return BigInt((dot < 0 ? text : text.slice(0, dot)) + fraction.padEnd(digits, '0'))
}

function formatScaled(value: bigint, digits: number): DecimalString {
  const magnitude = (value < 0n ? -value : value).toString().padStart(digits + 1, '0')
  const whole = magnitude.slice(0, -digits)
  let end = magnitude.length
  while (end > magnitude.length - digits && magnitude[end - 1] === '0') end -= 1
  const fraction = magnitude.slice(-digits, end)
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Reads a decimal string of at most 12 decimals into pico. @throws RangeError on anything else. */
export function parseAmount(text: DecimalString): bigint {
  return parseScaled(text, PICO_DIGITS)
}

/** Whether an amount, of either sign, has no more digits before the point than one may have. */
export function isBookable(amountPico: bigint): boolean {
  return amountPico < AMOUNT_BOUND_PICO && amountPico > -AMOUNT_BOUND_PICO
}

/** Writes pico as a canonical decimal string. */
export function formatAmount(amountPico: bigint): DecimalString {
  return formatScaled(amountPico, PICO_DIGITS)
}

/** Writes pico with all twelve decimals, for columns that people compare. */
export function formatFullAmount(amountPico: bigint): DecimalString {
  const [whole = '', fraction = ''] = formatAmount(amountPico).split('.')
  return `${whole}.${fraction.padEnd(PICO_DIGITS, '0')}`
}

/** Checks and canonicalises a price: non-negative, at most 6 decimals. @throws RangeError otherwise. */
export function canonicalPrice(text: DecimalString): DecimalString {
  return formatScaled(parsePrice(text), PRICE_DIGITS)
}

/** Cache of prices that were read: every line repeats the same few. */
const knownPrices = new Map<DecimalString, bigint>()
const MAX_KNOWN_PRICES = 10_000

function parsePrice(text: DecimalString): bigint {
  const known = knownPrices.get(text)
  if (known !== undefined) return known
  const micro = parseScaled(text, PRICE_DIGITS)
  if (micro < 0n) throw new RangeError(`negative price: ${text}`)
  if (knownPrices.size < MAX_KNOWN_PRICES) knownPrices.set(text, micro)
  return micro
}

/**
 * A price times a multiplier, both non-negative decimals of at most 6 places, rounded half away from
 * zero to the 6 decimals a price may have. @throws RangeError on anything else
 */
export function multipliedPrice(price: DecimalString, multiplier: DecimalString): DecimalString {
  const product = parsePrice(price) * parsePrice(multiplier)
  const scale = 10n ** BigInt(PRICE_DIGITS)
  // No factor is negative, so "away from zero" is up.
  return formatScaled((product + scale / 2n) / scale, PRICE_DIGITS)
}

/**
 * Reads a quantity as Postgres writes it. @throws RangeError for a quantity that a number cannot
 * hold
 */
export function toQuantity(text: string): Quantity {
  const quantity = Number(text)
  if (!Number.isSafeInteger(quantity) || quantity < 0)
    throw new RangeError(`not a safe quantity: ${text}`)
  return quantity
}

/**
 * `quantity × price ÷ per` in pico: exact, because a price has at most 6 decimals and `per` divides
 * 10⁶. @throws RangeError when the quantity is not a non-negative safe integer.
 */
export function lineAmount(quantity: Quantity, price: DecimalString, per: Per): bigint {
  if (!Number.isSafeInteger(quantity) || quantity < 0)
    throw new RangeError(`not a safe quantity: ${quantity}`)
  const micro = parsePrice(price)
  return (BigInt(quantity) * micro * PICO_OF_PRICE) / BigInt(per)
}

/** The largest quantity whose amount can be booked at a price that is not zero. */
export function bookableQuantity(price: DecimalString, per: Per): Quantity {
  const ofPerPico = parsePrice(price) * PICO_OF_PRICE
  return Number(((AMOUNT_BOUND_PICO - 1n) * BigInt(per)) / ofPerPico)
}
