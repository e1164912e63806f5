import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { PriceBookEvent, PriceBookPublished } from './events.ts'
import { priceBookDigest, type PriceBookDocument } from './price-book-document.ts'

/** What was published, by version. */
export interface PriceBookState {
  readonly published: ReadonlyMap<string, Pick<PriceBookPublished, 'digest' | 'effectiveFrom'>>
}

export interface PublishPriceBook {
  readonly kind: 'publish'
  readonly book: PriceBookDocument
  /** RFC 3339. */
  readonly at: string
}

/**
 * Publishing is append-only. The same version with the same prices and beginning again decides to
 * no event.
 *
 * @throws DomainError `price_book_version_taken` for the same version with other content
 */
export const priceBookDecider: Decider<PriceBookState, PublishPriceBook, PriceBookEvent> = {
  initial: { published: new Map() },

  decide({ book, at }, state) {
    const digest = priceBookDigest(book.entries)
    const earlier = state.published.get(book.version)
    if (earlier?.digest === digest && earlier.effectiveFrom === book.effectiveFrom) return []
    if (earlier)
      throw new DomainError(
        'price_book_version_taken',
        `price book ${book.version} is already published with other content: raise its version`,
        { version: book.version },
      )
    return [
      {
        type: 'PriceBookPublished',
        data: {
          version: book.version,
          effectiveFrom: book.effectiveFrom,
          publishedAt: at,
          digest,
          entries: [...book.entries],
        },
      },
    ]
  },

  evolve(state, { data }) {
    const { digest, effectiveFrom } = data
    return { published: new Map(state.published).set(data.version, { digest, effectiveFrom }) }
  },
}
