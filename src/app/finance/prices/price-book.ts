import type { Pool } from 'pg'
import {
  currentPriceBook,
  listPriceBooks,
  priceBookVersion,
  type PublishedPriceBook,
} from '../../../../projections/prices/query.ts'
import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import { type Clock, monotonicClock } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { ReadAhead, RecentUse } from '../../../platform/read-ahead.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'

/** The prices in effect, from the read model, cached for a moment. */

/** A newly published book is used at the latest after this. */
const VALID_FOR_MS = 2_000
/** A book this old is read again while calls go on using it. The renewal once a second comes before. */
const RENEW_AFTER_MS = 1_500
/** The one key of its reads. */
const IN_EFFECT = 'the book in effect'
/** While Postgres is unavailable the last known book serves this long: prices rarely change. */
const STALE_FOR_MS = 60_000

export interface PriceBookSource {
  /** @throws DomainError `price_not_configured` before any book, `database_unavailable` */
  readonly current: () => Promise<PriceBook>
  /** Reads the book again in the background if it was used of late; called about once a second. */
  readonly renew: () => void
}

/** `clock` says which book is in effect, `monotonic` how long ago it was read. */
export function createPriceBookSource(
  pool: Pool,
  clock: Clock,
  monotonic: Clock = monotonicClock,
): PriceBookSource {
  let cached: { readonly book: Promise<PriceBook>; readonly readAtMs: number } | undefined
  const recentUse = new RecentUse()
  const ageMs = (): number =>
    cached === undefined ? Infinity : monotonic.nowMs() - cached.readAtMs
  const reads = new ReadAhead<PriceBook>({
    validForMs: VALID_FOR_MS,
    renewAfterMs: RENEW_AFTER_MS,
    clock: monotonic,
    read: async () => {
      const readAtMs = monotonic.nowMs()
      const book = await currentPriceBook(pool, clock.nowMs())
      if (book === undefined)
        throw new DomainError('price_not_configured', 'no price book is published yet', {})
      cached = { book: Promise.resolve(book), readAtMs }
      return book
    },
  })
  const lastKnown = (error: unknown): Promise<PriceBook> => {
    if (error instanceof DomainError) throw error
    if (cached !== undefined && ageMs() < STALE_FOR_MS) return cached.book
    throw new DomainError('database_unavailable', 'the prices cannot be read at the moment', {
      reason: error instanceof Error ? error.message : 'unknown',
    })
  }

  return {
    current: () => {
      recentUse.used()
      if (cached === undefined) return reads.begun(IN_EFFECT).catch(lastKnown)
      return reads.awaited(IN_EFFECT, ageMs())?.catch(lastKnown) ?? cached.book
    },
    renew: () => {
      // A failure is thrown to the calls that wait for a later read.
      if (recentUse.countRound()) reads.begun(IN_EFFECT).catch(() => undefined)
    },
  }
}

/** The most of a missing version's name that the error repeats. */
const MAX_SHOWN_CHARACTERS = 128

/** A published book. @throws DomainError `price_book_not_found`, naming the latest ones */
export async function findPriceBook(
  db: Queryable,
  version: string,
  param = 'version',
): Promise<PublishedPriceBook> {
  const book = await priceBookVersion(db, version)
  if (book !== undefined) return book
  const known = (await listPriceBooks(db, { limit: MAX_NAMED })).map((one) => one.version)
  throw new DomainError(
    'price_book_not_found',
    `no price book has the version ${version.slice(0, MAX_SHOWN_CHARACTERS)}; known versions: ${known.join(', ') || 'none'}`,
    { param },
  )
}

/** Models, SKUs and books named in a text; further ones are counted. */
const MAX_NAMED = 20

/** Lists names for readers, however many there are. */
export function some(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
