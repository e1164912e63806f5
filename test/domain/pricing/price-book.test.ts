import t from 'tap'
import type { PriceBookEvent } from '../../../src/domain/pricing/events.ts'
import { priceBookDecider } from '../../../src/domain/pricing/price-book-decider.ts'
import type { PriceBookDocument } from '../../../src/domain/pricing/price-book-document.ts'
import { inEffectAt, rate } from '../../../src/domain/pricing/price-book.ts'
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
const AT = '2026-02-01T00:00:00Z'
const at = (events: readonly PriceBookEvent[], time: string): string | undefined =>
  inEffectAt(
    events.map(({ data }) => data),
    Date.parse(time),
  )?.version
const publish = (given: readonly PriceBookEvent[], document: PriceBookDocument) => {
  const state = given.reduce(priceBookDecider.evolve, priceBookDecider.initial)
  return priceBookDecider.decide({ kind: 'publish', book: document, at: AT }, state)
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

t.test('publishing the same book again decides to no event while it is in effect', async (t) => {
  t.strictSame(publish(published(book({})), book({})), [])
  const upcoming = book({ version: 'v2', price: '2', effectiveFrom: '2026-03-01T00:00:00Z' })
  const both = published(book({}), upcoming)
  t.strictSame(publish(both, book({})), [], 'the later one has not begun')
  t.strictSame(publish(both, upcoming), [])
})

t.test('price_book_replaced for a book that a later one replaced', async (t) => {
  const replaced = published(book({}), book({ version: 'v2', price: '2' }))
  t.throws(() => publish(replaced, book({})), {
    code: 'price_book_replaced',
    message: /v1 was published before and v2 has replaced it/,
  })
  const hidden = { version: 'old', effectiveFrom: '2025-01-01T00:00:00Z' }
  const never = published(book({}), book(hidden))
  t.throws(() => publish(never, book(hidden)), { code: 'price_book_replaced' })
})

t.test('price_books_changed when another book was published since the preview', async (t) => {
  const state = published(book({})).reduce(priceBookDecider.evolve, priceBookDecider.initial)
  const decide = (document: PriceBookDocument, basis: number) =>
    priceBookDecider.decide({ kind: 'publish', book: document, basis, at: AT }, state)
  const next = book({ version: 'v2', price: '2' })
  t.equal(decide(next, 1).length, 1)
  t.throws(() => decide(next, 0), { code: 'price_books_changed', message: /v1 was published/ })
  t.strictSame(decide(book({}), 0), [], 'the same book was published already')
})

t.test('price_book_version_taken for one version with other prices or another time', async (t) => {
  for (const other of [book({ price: '2' }), book({ effectiveFrom: '2027-01-01T00:00:00Z' })])
    t.throws(() => publish(published(book({})), other), { code: 'price_book_version_taken' })
})

t.test('going back to earlier prices takes a new version', async (t) => {
  const events = published(book({}), book({ version: 'v2', price: '2' }), book({ version: 'v3' }))
  t.equal(events.length, 3)
  t.equal(at(events, '2026-06-01T00:00:00Z'), 'v3')
})

t.test('the book in effect is the latest one already effective', async (t) => {
  const events = published(
    book({}),
    book({ version: 'summer', effectiveFrom: '2026-06-01T00:00:00Z', price: '2' }),
    book({ version: 'spring', effectiveFrom: '2026-03-01T00:00:00Z', price: '3' }),
  )
  t.equal(at(events, '2025-12-31T23:59:59.999Z'), undefined)
  t.equal(at(events, '2026-01-01T00:00:00Z'), 'v1')
  t.equal(at(events, '2026-05-31T23:59:59.999Z'), 'spring')
  t.equal(at(events, '2026-06-01T00:00:00Z'), 'summer', 'published earlier, effective later')
  t.equal(at([], '2026-01-01T00:00:00Z'), undefined)
})

t.test('price_not_configured names the SKU, also if only the other currency has it', async (t) => {
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
