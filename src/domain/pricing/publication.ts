import { fromTimestamp } from '../../kernel/clock.ts'
import { type UnpricedModel, unpricedModels } from './coverage.ts'
import type { PriceBookPublished } from './events.ts'
import { isPublished } from './price-book-decider.ts'
import { type PriceBookDifference, priceBookDifference } from './price-book-difference.ts'
import type { PriceBookDocument } from './price-book-document.ts'
import {
  type Catalog,
  type UnsoldSku,
  unsoldInWords,
  type ServedModel,
} from '../catalog/catalog.ts'
import { inEffectAt, type PriceBook, priceBookFromPublished } from './price-book.ts'

/** The effects of publishing a book, for review before it is done. */
export interface Publication {
  readonly version: string
  /** RFC 3339. */
  readonly effectiveFrom: string
  /** Exactly this book is already published. */
  readonly published: boolean
  /** The number of published books at the time of this preview. */
  readonly basis: number
  /** `never`: a later book is already in effect when it would begin. */
  readonly takesEffect: 'at_once' | 'later' | 'never'
  /** The version in effect when it begins; undefined when it is the first. */
  readonly replaces: string | undefined
  /** From the prices of `replaces` to its own. */
  readonly difference: PriceBookDifference
  /** Served models for which it lacks a price; undefined if the served models are not known. */
  readonly unpriced: readonly (UnpricedModel & { readonly soldNow: boolean })[] | undefined
  /** SKUs among its new prices that are not sold. */
  readonly unsold: readonly UnsoldSku[]
}

/**
 * Compares a book with what is published.
 *
 * @param served what channels serve, undefined where they are not known
 * @throws DomainError `price_book_version_taken`, `price_book_replaced`
 */
export function publicationOf(
  catalog: Catalog,
  book: PriceBookDocument,
  books: readonly PriceBookPublished[],
  served: readonly ServedModel[] | undefined,
  nowMs: number,
): Publication {
  const { version, effectiveFrom, entries } = book
  const published = isPublished(book, books, nowMs)
  const fromMs = fromTimestamp(effectiveFrom)
  const others = books.filter((known) => known.version !== version)
  const replaces = inEffectAt(others, Math.max(nowMs, fromMs))
  const current = inEffectAt(books, nowMs)
  const isHidden = replaces !== undefined && fromTimestamp(replaces.effectiveFrom) > fromMs
  const difference = priceBookDifference(replaces?.entries ?? [], entries)
  return {
    version,
    effectiveFrom,
    published,
    basis: books.length,
    takesEffect: isHidden ? 'never' : fromMs > nowMs ? 'later' : 'at_once',
    replaces: replaces?.version,
    difference,
    unpriced: served && unpricedIn(catalog, priceBookFromPublished(book), current, served),
    unsold: catalog.unsoldSkus(
      difference.added.map(({ sku }) => sku),
      served,
    ),
  }
}

/**
 * Reasons why a person must confirm the publication: it removes prices, takes effect immediately,
 * or never takes effect.
 */
export function reasonsToConfirm(publication: Publication): readonly string[] {
  const { difference, takesEffect, unpriced = [], unsold, replaces, effectiveFrom } = publication
  const lost = unpriced.filter(({ soldNow }) => soldNow).map(({ model }) => model)
  // A SKU without a similar sold one may belong to a future model.
  const slips = unsold.filter(({ meant }) => meant !== undefined)
  return [
    ...(difference.removed.length === 0
      ? []
      : [`it lacks ${difference.removed.length} of the prices of ${replaces ?? 'the last book'}`]),
    ...(lost.length === 0 ? [] : [`models sold now would have no price: ${lost.join(', ')}`]),
    ...(slips.length === 0
      ? []
      : [`it has prices of SKUs that are not sold: ${slips.map(unsoldInWords).join(', ')}`]),
    ...(takesEffect === 'at_once' ? [`it takes effect immediately: ${effectiveFrom} is past`] : []),
    ...(takesEffect === 'never'
      ? [`it never takes effect: ${replaces ?? 'another book'} begins later and is in effect then`]
      : []),
  ]
}

function unpricedIn(
  catalog: Catalog,
  book: PriceBook,
  current: PriceBookPublished | undefined,
  served: readonly ServedModel[],
): NonNullable<Publication['unpriced']> {
  const before = current && priceBookFromPublished(current)
  const missingNow = new Set(
    before === undefined
      ? served.map(keyOf)
      : unpricedModels(catalog, served, before).map((model) => keyOf(model)),
  )
  return unpricedModels(catalog, served, book).map((model) => ({
    ...model,
    soldNow: !missingNow.has(keyOf(model)),
  }))
}

function keyOf({ family, model }: ServedModel): string {
  return `${family} ${model}`
}
