import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { PriceBookEvent, PriceBookPublished } from './events.ts'
import { priceBookDigest, type PriceBookDocument } from './price-book-document.ts'
import { inEffectAt } from './price-book.ts'

/** Published books, in order. */
interface PriceBookState {
  readonly books: readonly PriceBookPublished[]
}

interface PublishPriceBook {
  readonly kind: 'publish'
  readonly book: PriceBookDocument
  /** Number of books when the operator reviewed the changes; absent: not reviewed. */
  readonly basis?: number
  /** RFC 3339. */
  readonly at: string
}

/**
 * Publishing is append-only. The same version with the same prices and beginning again decides to
 * no event, as long as no later book has taken its place.
 *
 * @throws DomainError `price_book_version_taken` for the same version with other content,
 *   `price_book_replaced` when another has taken its place, `price_books_changed` when another was
 *   published since the changes were reviewed
 */
export const priceBookDecider: Decider<PriceBookState, PublishPriceBook, PriceBookEvent> = {
  initial: { books: [] },

  decide({ book, basis, at }, { books }) {
    if (isPublished(book, books, fromTimestamp(at))) return []
    if (basis !== undefined && basis !== books.length)
      throw new DomainError(
        'price_books_changed',
        `price book ${books.at(-1)?.version ?? ''} was published in the meantime: look again at what changes`,
        { version: book.version },
      )
    return [
      {
        type: 'PriceBookPublished',
        data: {
          version: book.version,
          effectiveFrom: book.effectiveFrom,
          publishedAt: at,
          digest: priceBookDigest(book.entries),
          entries: [...book.entries],
        },
      },
    ]
  },

  evolve({ books }, { data }) {
    return { books: [...books, data] }
  },
}

/**
 * Whether exactly this book is published, and in effect or still to come into effect.
 *
 * @throws DomainError `price_book_version_taken`, `price_book_replaced`
 */
export function isPublished(
  book: PriceBookDocument,
  books: readonly PriceBookPublished[],
  nowMs: number,
): boolean {
  const { version, effectiveFrom } = book
  const earlier = books.find((known) => known.version === version)
  if (earlier === undefined) return false
  if (earlier.digest !== priceBookDigest(book.entries) || earlier.effectiveFrom !== effectiveFrom)
    throw new DomainError(
      'price_book_version_taken',
      `price book ${version} is already published with other content: raise its version`,
      { version },
    )
  const current = inEffectAt(books, Math.max(nowMs, fromTimestamp(effectiveFrom)))
  if (current !== undefined && current !== earlier)
    throw new DomainError(
      'price_book_replaced',
      `price book ${version} was published before and ${current.version} has replaced it: ` +
        'publish it again under a new version',
      { version, by: current.version },
    )
  return true
}
