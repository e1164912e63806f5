import t from 'tap'
import {
  maxPriceEntries,
  priceBookDigest,
  priceBookFromDocument,
} from '../../../../src/domain/pricing/price-book-document.ts'
import { priceBookDifference } from '../../../../src/domain/pricing/price-book-difference.ts'
import { catalog } from '../../../../src/families/index.ts'

/** No step of a request takes so many times what it takes to write the book as JSON and read it again. */
const MOST_TIMES = 12
/** Of a busy machine the best of several tries counts. */
const TRIES = 8

const documentAt = (price: string) => ({
  version: `at-${price}`,
  effective_from: '2035-01-01T00:00:00Z',
  prices: Array.from({ length: maxPriceEntries }, (_, index) => ({
    sku: `sku-number-${index}`,
    currency: 'USD',
    unit: 'token',
    per: 1_000_000,
    price,
  })),
})

function takenMs(work: () => unknown): number {
  const startedMs = performance.now()
  work()
  return performance.now() - startedMs
}

/** How many times longer one takes than the other; each try measures both in turn, as a machine's speed changes. */
function timesLonger(work: () => unknown, than: () => unknown): number {
  return Math.min(
    ...Array.from({ length: TRIES }, () => {
      const thanMs = takenMs(than)
      return takenMs(work) / thanMs
    }),
  )
}

t.test('publishing the largest price book blocks the event loop only briefly', (t) => {
  const [one, two] = [documentAt('1'), documentAt('2')].map((each) =>
    priceBookFromDocument(each, catalog.unitOf),
  )
  if (one === undefined || two === undefined) throw new Error('there are two')
  t.equal(priceBookDifference(one.entries, two.entries).changed.length, maxPriceEntries)
  const asJson = () => JSON.parse(JSON.stringify(documentAt('3'))) as unknown
  const unsold = one.entries.map((_, index) => `domestic-video-2-5-web-sear${index}`)
  for (const [step, work] of Object.entries({
    'the document is read': () => priceBookFromDocument(documentAt('3'), catalog.unitOf),
    'its digest is made': () => priceBookDigest(one.entries),
    'its SKUs are compared with what is sold': () => catalog.unsoldSkus(unsold, undefined),
    'it is compared': () => priceBookDifference(one.entries, two.entries),
  })) {
    const times = timesLonger(work, asJson)
    t.ok(times < MOST_TIMES, `${step}: ${times.toFixed(1)} times`)
  }
  t.end()
})
