import type { ListedPriceBook, PublishedPriceBook } from '../../../../projections/prices/query.ts'
import type { PriceBookDifference } from '../../../domain/pricing/price-book-difference.ts'
import type { Publication } from '../../../domain/pricing/publication.ts'

/** Prices as these routes show them. */

const toHead = ({
  version,
  effectiveFrom,
  publishedAt,
  publishedBy,
}: Pick<PublishedPriceBook, 'version' | 'effectiveFrom' | 'publishedAt' | 'publishedBy'>) => ({
  object: 'price_book' as const,
  version,
  effective_from: effectiveFrom,
  published_at: publishedAt,
  published_by: publishedBy ?? null,
})

export function toListedBook(book: ListedPriceBook) {
  return { ...toHead(book), state: book.state, price_count: book.prices }
}

export function toBook(book: PublishedPriceBook) {
  return { ...toHead(book), prices: [...book.entries] }
}

export function toDifference({ added, removed, changed, unchanged }: PriceBookDifference) {
  return {
    added: [...added],
    removed: [...removed],
    changed: changed.map(({ before, after, percent = null }) => ({ before, after, percent })),
    unchanged,
  }
}

export function toPublication(publication: Publication, published: boolean) {
  const {
    version,
    effectiveFrom,
    takesEffect,
    replaces,
    difference,
    unpriced = [],
    unsold,
  } = publication
  return {
    object: 'price_book_publication' as const,
    version,
    effective_from: effectiveFrom,
    changed: published,
    takes_effect: takesEffect,
    replaces: replaces ?? null,
    difference: toDifference(difference),
    unpriced: unpriced.map(({ model, skus, soldNow }) => ({
      model,
      skus: [...skus],
      sold_now: soldNow,
    })),
    unsold: unsold.map(({ sku, meant = null }) => ({ sku, meant })),
  }
}
