import type { Pool } from 'pg'
import {
  currentPriceBook,
  listPriceBooks,
  priceBookVersion,
  type PublishedPriceBook,
} from '../../../../projections/prices/query.ts'
import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import { type Clock, monotonicClock } from '../../../kernel/clock.ts'
import { runForAllTokens } from '../../../kernel/token-context.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'

/** The prices in effect, from the read model, cached for a moment. */

/** A newly published book is used at the latest after this. */
const FRESH_FOR_MS = 2_000
/** A book older than this is read again while calls go on using it, so that none waits for a read. */
const READ_AHEAD_MS = 1_000
/** While Postgres is unavailable the last known book serves this long: prices rarely change. */
const STALE_FOR_MS = 60_000

export interface PriceBookSource {
  /** @throws DomainError `price_not_configured` before any book, `database_unavailable` */
  readonly current: () => Promise<PriceBook>
}

/** `clock` says which book is in effect, `monotonic` how long ago it was read. */
export function createPriceBookSource(
  pool: Pool,
  clock: Clock,
  monotonic: Clock = monotonicClock,
): PriceBookSource {
  let cached: { readonly book: PriceBook; readonly readAtMs: number } | undefined
  let reading: Promise<PriceBook> | undefined

  const read = async (): Promise<PriceBook> => {
    const nowMs = monotonic.nowMs()
    try {
      const book = await currentPriceBook(pool, clock.nowMs())
      if (book === undefined)
        throw new DomainError('price_not_configured', 'no price book is published yet', {})
      cached = { book, readAtMs: nowMs }
      return book
    } catch (error) {
      if (error instanceof DomainError) throw error
      if (cached !== undefined && nowMs - cached.readAtMs < STALE_FOR_MS) return cached.book
      throw new DomainError('database_unavailable', 'the prices cannot be read at the moment', {
        reason: error instanceof Error ? error.message : 'unknown',
      })
    }
  }

  const readOnce = (): Promise<PriceBook> =>
    (reading ??= runForAllTokens(read).finally(() => (reading = undefined)))

  return {
    current: () => {
      const ageMs = cached === undefined ? Infinity : monotonic.nowMs() - cached.readAtMs
      if (cached === undefined || ageMs >= FRESH_FOR_MS) return readOnce()
      // A failure is thrown to the call that waits for the next read.
      if (ageMs >= READ_AHEAD_MS) readOnce().catch(() => undefined)
      return Promise.resolve(cached.book)
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
