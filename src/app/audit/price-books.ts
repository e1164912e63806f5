import type { Pool } from 'pg'
import { canonicalTime, allRows, rowsByKey } from '../../../projections/engine/audited-rows.ts'
import { priceTables } from '../../../projections/prices/query.ts'
import {
  priceBookStream,
  type PriceBookEvent,
  type PriceBookPublished,
} from '../../domain/pricing/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { canonicalPrice } from '../../kernel/money.ts'
import { compareRows, type Expected } from './compare.ts'
import type { Finding, Findings } from './findings.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

function bookRow({ data: book, metadata, position }: RecordedEvent<PriceBookEvent>): Expected {
  return {
    version: book.version,
    effective_from: canonicalTime(book.effectiveFrom),
    published_at: canonicalTime(book.publishedAt),
    digest: book.digest,
    published_by: metadata.actor,
    position,
  }
}

function entryRows({ version, entries }: PriceBookPublished): readonly Expected[] {
  return entries.map(({ sku, currency, unit, price, per, demonstration }, n) => {
    const rate = { unit, price: canonicalPrice(price), per, demonstration }
    return { version, n, sku, currency, ...rate }
  })
}

/** Compares every version of the price book with the log; returns how many there are. */
export async function comparePriceBooks(deps: {
  readonly pool: Pool
  readonly log: EventLog
  readonly findings: Findings
}): Promise<number> {
  const { pool, log, findings } = deps
  // Operators publish them by hand, so there are few.
  const { rows, position } = await inSnapshot(pool, async (snapshot) => ({
    rows: await allRows(snapshot.db, priceTables.books),
    position: snapshot.position('prices'),
  }))
  const books: RecordedEvent<PriceBookEvent>[] = []
  for await (const event of readTo(log, priceBookStream, position))
    if (event.type === 'PriceBookPublished') books.push(event)
  const table = priceTables.books.name
  const nameOf = (row: Expected) => {
    return { table, key: String(row['version']), position: row['position'] }
  }
  findings.push(...compareRows(books.map(bookRow), rows, 'version', nameOf))
  const stored = new Set(rows.map((row) => row['version']))
  for (const book of books)
    if (stored.has(book.data.version)) findings.push(...(await compareEntries(pool, book)))
  return rows.length
}

async function compareEntries(
  pool: Pool,
  { data, position }: RecordedEvent<PriceBookEvent>,
): Promise<readonly Finding[]> {
  const rows = await inSnapshot(pool, ({ db }) =>
    rowsByKey(db, priceTables.entries, 'version', [data.version]),
  )
  return compareRows(entryRows(data), rows, 'n', ({ sku, currency }) => {
    const key = `${data.version} ${String(sku)} ${String(currency)}`
    return { table: priceTables.entries.name, key, position }
  })
}
