import type { PriceEntry } from '../../domain/pricing/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { ALLOWED_LATENESS_MS } from './account-prices.ts'

/** A price book, and when a request that begins may get its prices: Unix milliseconds. */
interface PublishedBook {
  readonly entries: ReadonlyMap<string, PriceEntry>
  readonly effectiveFromMs: number
  /** Time at which every replica knew a book that replaces it; Infinity while there is none. */
  replacedAtMs: number
}

/** The price books of the log, in the order in which they were published. */
export class PublishedBooks {
  readonly #books = new Map<string, PublishedBook>()

  /** Takes the next book: it replaces those that begin no later, and a later one replaces it. */
  take({ data, recordedAt }: Extract<RecordedEvent, { type: 'PriceBookPublished' }>): void {
    const effectiveFromMs = fromTimestamp(data.effectiveFrom)
    const knownAtMs = Math.max(effectiveFromMs, recordedAt.getTime())
    let replacedAtMs = Infinity
    for (const book of this.#books.values())
      if (book.effectiveFromMs <= effectiveFromMs)
        book.replacedAtMs = Math.min(book.replacedAtMs, knownAtMs)
      else replacedAtMs = Math.min(replacedAtMs, book.effectiveFromMs)
    const entries = data.entries.map((entry): [string, PriceEntry] => [
      `${entry.sku} ${entry.currency}`,
      entry,
    ])
    const book = { entries: new Map(entries), effectiveFromMs, replacedAtMs }
    this.#books.set(data.version, book)
  }

  entry(version: string, sku: string, currency: string): PriceEntry | undefined {
    return this.#books.get(version)?.entries.get(`${sku} ${currency}`)
  }

  /**
   * Why a request that began then cannot have got the prices of a version; undefined where it can,
   * and for a version that was never published: its lines have no price.
   */
  faultOf(version: string, beganAtMs: number): string | undefined {
    const book = this.#books.get(version)
    if (book === undefined) return undefined
    if (book.effectiveFromMs > beganAtMs + ALLOWED_LATENESS_MS)
      return `price book ${version} was not in effect yet`
    if (book.replacedAtMs + ALLOWED_LATENESS_MS < beganAtMs)
      return `price book ${version} had been replaced`
    return undefined
  }
}
