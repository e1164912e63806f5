import t from 'tap'
import type { PriceBookEvent } from '../../../src/domain/pricing/events.ts'
import { priceBookDecider } from '../../../src/domain/pricing/price-book-decider.ts'
import type { PriceBookDocument } from '../../../src/domain/pricing/price-book-document.ts'
import { priceBookFromEvents, rate } from '../../../src/domain/pricing/price-book.ts'
import { shippedBook } from './books.ts'

const book = (
  changes: Partial<PriceBookDocument> & { readonly price?: string },
): PriceBookDocument => ({
  version: changes.version ?? 'v1',
  effectiveFrom: changes.effectiveFrom ?? '2026-01-01T00:00:00Z',
  entries: [
    { sku: 's', currency: 'USD', unit: 'token', price: changes.price ?? '1', per: 1_000_000 },
  ],
})
const publish = (given: readonly PriceBookEvent[], document: PriceBookDocument) => {
  const state = given.reduce(priceBookDecider.evolve, priceBookDecider.initial)
  return priceBookDecider.decide(
    { kind: 'publish', book: document, at: '2026-02-01T00:00:00Z' },
    state,
  )
}
const published = (...documents: readonly PriceBookDocument[]): readonly PriceBookEvent[] =>
  documents.reduce<readonly PriceBookEvent[]>(
    (given, next) => [...given, ...publish(given, next)],
    [],
  )

t.test('publishing a book records it with its digest', async (t) => {
  t.match(published(book({})), [
    {
      type: 'PriceBookPublished',
      data: { version: 'v1', publishedAt: '2026-02-01T00:00:00Z', digest: /^[0-9a-f]{64}$/ },
    },
  ])
})

t.test('publishing the same book again decides to no event, also after others', async (t) => {
  t.strictSame(publish(published(book({})), book({})), [])
  const later = published(book({}), book({ version: 'v2', price: '2' }))
  t.equal(later.length, 2)
  t.strictSame(publish(later, book({})), [])
})

t.test(
  'price_book_version_taken for the same version with other prices or another time',
  async (t) => {
    for (const other of [book({ price: '2' }), book({ effectiveFrom: '2027-01-01T00:00:00Z' })])
      t.throws(() => publish(published(book({})), other), { code: 'price_book_version_taken' })
  },
)

t.test('going back to earlier prices takes a new version', async (t) => {
  const events = published(book({}), book({ version: 'v2', price: '2' }), book({ version: 'v3' }))
  t.equal(events.length, 3)
  t.equal(priceBookFromEvents(events, Date.UTC(2026, 5))?.version, 'v3')
})

t.test('the book in effect is the latest one already effective', async (t) => {
  const events = published(
    book({}),
    book({ version: 'summer', effectiveFrom: '2026-06-01T00:00:00Z', price: '2' }),
    book({ version: 'spring', effectiveFrom: '2026-03-01T00:00:00Z', price: '3' }),
  )
  const at = (time: string): string | undefined =>
    priceBookFromEvents(events, Date.parse(time))?.version
  t.equal(at('2025-12-31T23:59:59.999Z'), undefined)
  t.equal(at('2026-01-01T00:00:00Z'), 'v1')
  t.equal(at('2026-05-31T23:59:59.999Z'), 'spring')
  t.equal(at('2026-06-01T00:00:00Z'), 'summer', 'published earlier, effective later')
  t.equal(priceBookFromEvents([], 0), undefined)
})

t.test('price_not_configured names the SKU; a price in the other currency is none', async (t) => {
  t.strictSame(rate(shippedBook, 'overseas-video-2-5-video', 'USD', 'r'), {
    sku: 'overseas-video-2-5-video',
    rule: 'r',
    unit: 'token',
    price: '6.4',
    per: 1_000_000,
  })
  t.throws(() => rate(shippedBook, 'overseas-video-2-5-video', 'CNY', 'r'), {
    code: 'price_not_configured',
    details: { sku: 'overseas-video-2-5-video', currency: 'CNY' },
  })
})
