import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import type { PriceBookPublished, PriceEntry } from './events.ts'
import type { AccountPrice, RatedSku } from './settlement.ts'

/** A price that applies to a tenant, and, if it is not the price of the book, why. */
export type SoldPrice = Readonly<PriceEntry> & { readonly accountPrice?: AccountPrice }

/** One published version of the prices, from the list or for one tenant, indexed by SKU. */
export interface PriceBook {
  readonly version: string
  readonly lookup: (sku: string, currency: Currency) => SoldPrice | undefined
  /** The published prices below those of one tenant; absent in a book that is published itself. */
  readonly list?: PriceBook
}

/** A SKU by which requests for a model may be billed. */
export interface BilledSku {
  readonly sku: string
  readonly currency: Currency
  /** The unit that the SKU counts, as prices name it: `token`, `second`. */
  readonly unit: string
  /** Only some requests need it: where it has no price, only these are refused. */
  readonly optional?: true
}

/** SKUs of a unit in a currency, none of which every request needs. */
export function optionalSkus(
  skus: readonly string[],
  unit: string,
  currency: Currency,
): readonly BilledSku[] {
  return skus.map((sku) => ({ sku, currency, unit, optional: true }))
}

/** SKUs that requests need and a book has no price of. */
export function unpricedSkus(billed: readonly BilledSku[], book: PriceBook): readonly string[] {
  return billed
    .filter(({ sku, currency, optional }) => !optional && book.lookup(sku, currency) === undefined)
    .map(({ sku }) => sku)
}

/** The unit that a SKU counts, as a catalog knows it; undefined for SKUs that it does not sell. */
export type UnitOf = (sku: string) => string | undefined

/** Why a price cannot be in its unit, in words about its SKU; undefined if it can. */
export function unitFault({ sku, unit }: Pick<PriceEntry, 'sku' | 'unit'>, unitOf: UnitOf) {
  const counted = unitOf(sku)
  if (counted === undefined || counted === unit) return undefined
  return `is not counted in \`${unit}\`: did you mean \`${counted}\`?`
}

/** The book before any is published. */
export const emptyPriceBook: PriceBook = { version: '', lookup: () => undefined }

/** Indexes a published version. */
export function priceBookFromPublished(published: {
  readonly version: string
  readonly entries: readonly PriceEntry[]
}): PriceBook {
  const entries = new Map(
    published.entries.map((entry) => [`${entry.currency} ${entry.sku}`, entry]),
  )
  return {
    version: published.version,
    lookup: (sku, currency) => entries.get(`${currency} ${sku}`),
  }
}

/**
 * The version in effect at a time: the effective one with the latest `effectiveFrom`; among equals,
 * the one published last. Undefined when none is effective yet.
 *
 * @param books in the order they were published
 * @param atMs unix milliseconds
 */
export function inEffectAt(
  books: readonly PriceBookPublished[],
  atMs: number,
): PriceBookPublished | undefined {
  let current: { readonly fromMs: number; readonly book: PriceBookPublished } | undefined
  for (const book of books) {
    const fromMs = fromTimestamp(book.effectiveFrom)
    if (fromMs <= atMs && (!current || fromMs >= current.fromMs)) current = { fromMs, book }
  }
  return current?.book
}

/**
 * A SKU with the price it would be settled at and the rule that chose it.
 *
 * @throws DomainError `price_not_configured` with `details.sku` and `details.currency`
 */
export function rate(book: PriceBook, sku: string, currency: Currency, rule: string): RatedSku {
  const entry = book.lookup(sku, currency)
  if (!entry)
    throw new DomainError(
      'price_not_configured',
      `the price book ${book.version} has no ${currency} price for ${sku}`,
      { sku, currency, priceBookVersion: book.version },
    )
  const { unit, price, per, accountPrice } = entry
  const rated = { sku, rule, unit, price, per }
  return accountPrice === undefined ? rated : { ...rated, accountPrice }
}
