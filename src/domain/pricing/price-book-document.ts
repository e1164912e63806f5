import { isDate, readTime } from '../../kernel/read-time.ts'
import { DomainError } from '../../kernel/errors.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import { canonicalPrice, currencies, type Currency, type Per } from '../../kernel/money.ts'
import type { PriceEntry } from './events.ts'
import { type UnitOf, unitFault } from './price-book.ts'

/** A price book as a person writes it (`infra/pricebook.yaml`), checked and made canonical. */
export interface PriceBookDocument {
  readonly version: string
  /** RFC 3339. */
  readonly effectiveFrom: string
  /** Canonical prices, ordered by SKU and currency. */
  readonly entries: readonly PriceEntry[]
}

/** Keeps a published book well under the log's 1 MiB an append. */
export const maxPriceEntries = 5_000
const PERS: readonly Per[] = [1, 1_000, 1_000_000]
const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/
const UNIT = /^[a-z][a-z0-9-]{0,31}$/
const DOCUMENT_MEMBERS = ['version', 'effective_from', 'prices']
const PRICE_MEMBERS = ['sku', 'currency', 'unit', 'per', 'price', 'demonstration']

function fail(at: string, message: string): never {
  throw new DomainError('price_book_invalid', `${at} ${message}`, { param: at })
}

/** The members of a mapping; unknown ones are refused. @throws DomainError `price_book_invalid` */
export function members(
  value: unknown,
  at: string,
  known: readonly string[],
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fail(at, 'must be a mapping')
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown !== undefined) return fail(at, `has an unknown member: ${unknown}`)
  return { ...value }
}

/**
 * Reads an already parsed YAML value: `version`, `effective_from` and `prices`, each with `sku`,
 * `currency`, `unit`, `per`, `price` (a quoted decimal, so that no float comes near it) and
 * optionally `demonstration`. A SKU whose unit is known has its price in that unit.
 *
 * @throws DomainError `price_book_invalid`, whose message and `details.param` name the place
 */
export function priceBookFromDocument(value: unknown, unitOf: UnitOf): PriceBookDocument {
  const document = members(value, 'the price book', DOCUMENT_MEMBERS)
  const version = document['version']
  if (typeof version !== 'string' || !NAME.test(version))
    return fail('version', 'must be a quoted name of letters, digits, dots, dashes')
  const effectiveFrom = document['effective_from']
  if (typeof effectiveFrom !== 'string' || !isBeginning(effectiveFrom))
    return fail(
      'effective_from',
      'must be a quoted RFC 3339 time of whole milliseconds, e.g. "2026-01-01T00:00:00Z", of a day that exists in the years 1970 to 9999',
    )
  const prices: unknown = document['prices']
  if (Array.isArray(prices) && prices.length === 0)
    return fail('prices', 'must have at least one price')
  return { version, effectiveFrom, entries: priceEntriesFrom(prices, maxPriceEntries, unitOf) }
}

/**
 * Reads a list of prices, each with the members of one in a price book; canonical and in order.
 * Units are not compared unless a catalog knows them.
 *
 * @throws DomainError `price_book_invalid`, naming the place
 */
export function priceEntriesFrom(
  prices: unknown,
  maxEntries: number,
  unitOf: UnitOf = () => undefined,
): readonly PriceEntry[] {
  if (!Array.isArray(prices) || prices.length > maxEntries)
    return fail('prices', `must be a list of at most ${maxEntries} prices`)
  const entries = prices.map((price: unknown, index) => readEntry(price, `prices[${index}]`))
  const seen = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    if (seen.has(sortKey(entry)))
      fail(`prices[${index}]`, `repeats the ${entry.currency} price of ${entry.sku}`)
    seen.add(sortKey(entry))
    const fault = unitFault(entry, unitOf)
    if (fault !== undefined) fail(`prices[${index}].unit`, `is wrong: ${entry.sku} ${fault}`)
  }
  return entries.sort(byKey)
}

/**
 * The book without its demonstration prices, under its own version. Every gateway but the sandbox
 * default must publish this one.
 */
export function withoutDemonstrations(book: PriceBookDocument): PriceBookDocument {
  const entries = book.entries.filter((entry) => entry.demonstration !== true)
  if (entries.length === book.entries.length) return book
  return { ...book, version: `${book.version}-list`, entries }
}

/** SHA-256 of the canonical entries, hex: the same prices in any order have the same digest. */
export function priceBookDigest(entries: readonly PriceEntry[]): string {
  const canonical = entries
    .toSorted(byKey)
    .map((entry) => [
      entry.sku,
      entry.currency,
      entry.unit,
      canonicalPrice(entry.price),
      entry.per,
      entry.demonstration === true,
    ])
  return sha256Hex(JSON.stringify(canonical))
}

function readEntry(value: unknown, at: string): PriceEntry {
  const entry = members(value, at, PRICE_MEMBERS)
  const { sku, unit, price, demonstration } = entry
  if (typeof sku !== 'string' || !NAME.test(sku)) return fail(`${at}.sku`, 'must be a SKU name')
  const currency = currencies.find((known): known is Currency => known === entry['currency'])
  if (!currency) return fail(`${at}.currency`, `must be ${currencies.join(' or ')}`)
  if (typeof unit !== 'string' || !UNIT.test(unit))
    return fail(`${at}.unit`, 'must be a unit name, e.g. token')
  const per = PERS.find((known) => known === entry['per'])
  if (!per) return fail(`${at}.per`, `must be one of ${PERS.join(', ')}`)
  if (demonstration !== undefined && typeof demonstration !== 'boolean')
    return fail(`${at}.demonstration`, 'must be true or false')
  return {
    sku,
    currency,
    unit,
    price: readPrice(price, `${at}.price`),
    per,
    ...(demonstration === true ? { demonstration } : {}),
  }
}

function readPrice(price: unknown, at: string): string {
  // Nine digits times any safe integer still fits the ledger's numeric(38,12).
  if (typeof price !== 'string' || !/^(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/.test(price))
    return fail(at, 'must be a quoted decimal of at most 9 digits and 6 decimals, e.g. "4.3"')
  return canonicalPrice(price)
}

/**
 * The time is stored as written: a day without a time, or a part of a millisecond, could be read in
 * several ways.
 */
function isBeginning(text: string): boolean {
  return readTime(text) !== undefined && !isDate(text) && !/\.\d{4}/.test(text)
}

function sortKey(entry: PriceEntry): string {
  return `${entry.sku} ${entry.currency}`
}

/** Sorted by code unit, not locale: the order is part of the digest. */
function byKey(left: PriceEntry, right: PriceEntry): number {
  const [a, b] = [sortKey(left), sortKey(right)]
  return a < b ? -1 : a > b ? 1 : 0
}
