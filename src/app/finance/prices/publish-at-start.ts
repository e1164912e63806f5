import type { PriceBookPublished, PriceEntry } from '../../../domain/pricing/events.ts'
import { isPublished } from '../../../domain/pricing/price-book-decider.ts'
import { priceBookDifference } from '../../../domain/pricing/price-book-difference.ts'
import type { PriceBookDocument } from '../../../domain/pricing/price-book-document.ts'
import { inEffectAt, type PriceBook } from '../../../domain/pricing/price-book.ts'
import { type Clock, fromTimestamp } from '../../../kernel/clock.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { PROGRAM_ACTOR } from '../../accounts/account-commands.ts'
import {
  bookOf,
  type PriceBookFile,
  publishBook,
  type PublishDeps,
  publishedBooks,
} from './publish.ts'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Log } from '../../../kernel/log.ts'
import type { PriceBookSource } from './price-book.ts'
import { readConfiguredBook, requirePrices } from './required-prices.ts'

/** Tries while other replicas publish as well. */
const MAX_TRIES = 5

/** The outcome for the book that a gateway was started with. */
export interface StartedBook {
  readonly version: string
  readonly outcome:
    | 'published'
    /** This book, or one with the same prices, is in effect or will be. */
    | 'known'
    /** A later book has replaced it. */
    | 'replaced'
    /** The book lacks prices that are sold at: a person must confirm that. */
    | 'withheld'
  /** SKUs whose price it lacks; only for a withheld book. */
  readonly lacking: readonly string[]
}

/**
 * Publishes the book that a gateway is started with, unless that would remove prices of sold SKUs:
 * a restart must not leave models without prices.
 *
 * @throws DomainError `price_book_invalid`, `price_book_version_taken`, and the log's codes
 */
export async function publishAtStart(deps: PublishDeps, file: PriceBookFile): Promise<StartedBook> {
  const book = bookOf(deps.catalog, file)
  const { version } = book
  for (let tries = 1; ; tries += 1) {
    const { basis, ...rest } = await preview(deps, book, file)
    if (rest.outcome !== 'published') return { version, ...rest }
    try {
      await publishBook(deps, { book, basis, correlationId: 'start', actor: PROGRAM_ACTOR })
      return { version, ...rest }
    } catch (error) {
      if (!wasOvertaken(error) || tries >= MAX_TRIES) throw error
    }
  }
}

/** Another replica published meanwhile. */
function wasOvertaken(error: unknown): boolean {
  return isDomainError(error, 'price_books_changed') || isDomainError(error, 'price_book_replaced')
}

async function preview(
  deps: PublishDeps,
  book: PriceBookDocument,
  file: PriceBookFile,
): Promise<Omit<StartedBook, 'version'> & { readonly basis: number }> {
  const books = await publishedBooks(deps.log)
  const nowMs = deps.clock.nowMs()
  const base = { basis: books.length, lacking: [] }
  const earlier = statusOf(book, books, nowMs)
  if (earlier === 'published') return { ...base, outcome: 'known' }
  const current = inEffectAt(books, Math.max(nowMs, fromTimestamp(book.effectiveFrom)))
  if (current === undefined) return { ...base, outcome: 'published' }
  const { added, removed, changed } = priceBookDifference(sold(current.entries, file), book.entries)
  // A book that differs only in demonstration prices, which this gateway does not use.
  if (added.length + removed.length + changed.length === 0) return { ...base, outcome: 'known' }
  if (earlier === 'replaced') return { ...base, outcome: 'replaced' }
  if (removed.length === 0) return { ...base, outcome: 'published' }
  return { ...base, outcome: 'withheld', lacking: removed.map(({ sku }) => sku) }
}

/** @throws DomainError `price_book_version_taken` */
function statusOf(
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

/**
 * Publishes the configured price book, or the built-in one, and logs the outcome.
 * @throws UnpricedModelsError for models of a channel file that have no price in any book
 */
export async function publishPrices(options: {
  readonly config: {
    readonly priceBookFile: string | undefined
    readonly channelsFile: string | undefined
  }
  readonly sandbox: boolean
  readonly roles: ReadonlySet<string>
  readonly served: readonly ServedModel[]
  readonly log: EventLog
  readonly catalog: Catalog
  readonly clock: Clock
  readonly logger: Log
}): Promise<StartedBook> {
  const { log, catalog, clock } = options
  const configured = await readConfiguredBook(options.config.priceBookFile)
  const book = await publishAtStart(
    { log, catalog, clock },
    { yamlText: configured.yamlText, demonstrations: options.sandbox },
  )
  const { served, config, roles } = options
  // Only callers need prices, and the models of the sandbox are not the operator's choice.
  if (roles.has('api') && config.channelsFile !== undefined) {
    const published = (await publishedBooks(log)).flatMap(({ entries }) => entries)
    requirePrices({ catalog, served, book: configured, published, inPart: true })
  }
  if (book.outcome === 'withheld')
    options.logger.warn(
      { version: book.version, lacking: book.lacking.length },
      'the price book lacks prices sold at and was not published',
    )
  else options.logger.info({ version: book.version, outcome: book.outcome }, 'price book')
  return book
}

/**
 * The prices of a source without its demonstration prices, whichever gateway published them: only
 * the sandbox sells at those.
 */
export function withoutDemonstrationPrices(source: PriceBookSource): PriceBookSource {
  /** One per book, because quotes are cached by it. */
  const narrowed = new WeakMap<PriceBook, PriceBook>()
  return {
    renew: source.renew,
    current: async () => {
      const book = await source.current()
      const known = narrowed.get(book)
      if (known !== undefined) return known
      const made = narrow(book)
      narrowed.set(book, made)
      return made
    },
  }
}

function narrow(book: PriceBook): PriceBook {
  return {
    version: book.version,
    lookup: (sku, currency) => {
      const entry = book.lookup(sku, currency)
      return entry?.demonstration === true ? undefined : entry
    },
  }
}
