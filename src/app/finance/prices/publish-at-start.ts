import type { PriceBookPublished, PriceEntry } from '../../../domain/pricing/events.ts'
import { isPublished } from '../../../domain/pricing/price-book-decider.ts'
import { priceBookDifference } from '../../../domain/pricing/price-book-difference.ts'
import type { PriceBookDocument } from '../../../domain/pricing/price-book-document.ts'
import { inEffectAt } from '../../../domain/pricing/price-book.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { PROGRAM_ACTOR } from '../../accounts/bootstrap.ts'
import {
  bookOf,
  type PriceBookFile,
  publishedBooks,
  type PublishDeps,
  publishPriceBook,
} from './publish.ts'

/** Looks taken while other replicas publish as well. */
const MAX_LOOKS = 5

/** What came of the book a gateway was started with. */
export interface StartedBook {
  readonly version: string
  readonly outcome:
    | 'published'
    /** This book, or one with the same prices, is in effect or will be. */
    | 'known'
    /** Another book has taken its place since. */
    | 'replaced'
    /** It lacks prices that are sold at: a person has to want that. */
    | 'withheld'
  /** SKUs whose price it lacks; only of a withheld book. */
  readonly lacking: readonly string[]
}

/**
 * Publishes the book a gateway is started with, unless that took prices away from what is sold: a
 * restart must not strand models.
 *
 * @throws DomainError `price_book_invalid`, `price_book_version_taken`, and the log's codes
 */
export async function publishAtStart(deps: PublishDeps, file: PriceBookFile): Promise<StartedBook> {
  const { version } = bookOf(file)
  for (let looks = 1; ; looks += 1) {
    const { basis, ...look } = await lookAt(deps, file)
    if (look.outcome !== 'published') return { version, ...look }
    try {
      const actor = PROGRAM_ACTOR
      await publishPriceBook(deps, { ...file, basis, correlationId: 'start', actor })
      return { version, ...look }
    } catch (error) {
      if (!wasOvertaken(error) || looks >= MAX_LOOKS) throw error
    }
  }
}

/** Another replica published while we looked. */
function wasOvertaken(error: unknown): boolean {
  return isDomainError(error, 'price_books_changed') || isDomainError(error, 'price_book_replaced')
}

async function lookAt(
  deps: PublishDeps,
  file: PriceBookFile,
): Promise<Omit<StartedBook, 'version'> & { readonly basis: number }> {
  const book = bookOf(file)
  const books = await publishedBooks(deps.log)
  const nowMs = deps.clock.nowMs()
  const said = { basis: books.length, lacking: [] }
  const earlier = standingOf(book, books, nowMs)
  if (earlier === 'published') return { ...said, outcome: 'known' }
  const current = inEffectAt(books, Math.max(nowMs, fromTimestamp(book.effectiveFrom)))
  if (current === undefined) return { ...said, outcome: 'published' }
  const { added, removed, changed } = priceBookDifference(sold(current.entries, file), book.entries)
  // A book that differs only in demonstrations nobody here sells at.
  if (added.length + removed.length + changed.length === 0) return { ...said, outcome: 'known' }
  if (earlier === 'replaced') return { ...said, outcome: 'replaced' }
  if (removed.length === 0) return { ...said, outcome: 'published' }
  return { ...said, outcome: 'withheld', lacking: removed.map(({ sku }) => sku) }
}

/** @throws DomainError `price_book_version_taken` */
function standingOf(
  book: PriceBookDocument,
  books: readonly PriceBookPublished[],
  nowMs: number,
): 'new' | 'published' | 'replaced' {
  try {
    return isPublished(book, books, nowMs) ? 'published' : 'new'
  } catch (error) {
    if (isDomainError(error, 'price_book_replaced')) return 'replaced'
    throw error
  }
}

/** The prices a gateway of this kind sells at. */
function sold(
  entries: readonly PriceEntry[],
  { demonstrations }: PriceBookFile,
): readonly PriceEntry[] {
  return demonstrations ? entries : entries.filter((entry) => entry.demonstration !== true)
}
