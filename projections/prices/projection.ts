import { priceBookEvents } from '../../src/domain/pricing/events.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { bigint, bool, constrained, decimal, int, nullable, text, time } from '../engine/column.ts'
import { audited, fromTables } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'

const books = table('prices.books', {
  columns: {
    version: text(),
    effective_from: time(),
    published_at: time(),
    digest: text(),
    published_by: nullable(text()),
    position: bigint(),
  },
  key: ['version'],
  once: true,
  earlyIndexes: { effective: '(effective_from, position)' },
})

const entries = table('prices.entries', {
  columns: {
    version: constrained(text(), 'references books'),
    n: int(),
    sku: text(),
    currency: text(),
    unit: text(),
    price: decimal(),
    per: int(),
    demonstration: nullable(bool()),
  },
  key: ['version', 'n'],
  earlyIndexes: { sku: '(sku, currency)' },
})

const tables = { books, entries }

/** The rows that an auditor compares with the log. */
export const priceTables = audited(tables)

/** Every published version of the price book with its entries. */
export const pricesProjection: Projection = {
  name: 'prices',
  version: 2,
  ...fromTables(tables, {
    totals: `select 'versions' as name, count(*)::text as total from books
             union all select 'entries', count(*)::text from entries`,
  }),
  handles: new Set(Object.keys(priceBookEvents) as (keyof typeof priceBookEvents)[]),
  apply: async (client, batch) => {
    const published = batch.filter((event) => event.type === 'PriceBookPublished')
    await allSettledOrThrow([
      books.insert(
        client,
        published.map(({ data, metadata, position }) => {
          return { ...data, publishedBy: metadata.actor, position }
        }),
      ),
      entries.insert(
        client,
        published.flatMap(({ data: { version, entries } }) =>
          entries.map((entry, n) => ({ ...entry, version, n })),
        ),
      ),
    ])
  },
}
