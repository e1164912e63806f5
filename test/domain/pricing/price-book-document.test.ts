import { catalog } from '../../../src/families/index.ts'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { PriceEntrySchema } from '../../../src/domain/pricing/events.ts'
import {
  maxPriceEntries,
  priceBookDigest,
  priceBookFromDocument,
  withoutDemonstrations,
} from '../../../src/domain/pricing/price-book-document.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { shippedBook, shippedDocument } from './books.ts'

const price = { sku: 'a-sku', currency: 'USD', unit: 'token', per: 1_000_000, price: '4.30' }
const document = { version: 'v1', effective_from: '2026-01-01T00:00:00Z', prices: [price] }
/** No catalog knows the SKUs. */
const anyUnit = () => undefined

t.test('the shipped book has every price that providers publish', async (t) => {
  const tiers = ['480p', '720p', '1080p', '4k', 'fast', 'mini']
  const figures: readonly (readonly [
    'domestic' | 'overseas',
    'CNY' | 'USD',
    string,
    readonly string[],
  ])[] = [
    ['domestic', 'CNY', 'novideo', ['46', '46', '51', '26', '37', '23']],
    ['domestic', 'CNY', 'video', ['28', '28', '31', '16', '22', '14']],
    ['overseas', 'USD', 'novideo', ['7', '7', '7.7', '4', '5.6', '3.5']],
    ['overseas', 'USD', 'video', ['4.3', '4.3', '4.7', '2.4', '3.3', '2.1']],
  ]
  const expected = new Map(
    figures.flatMap(([region, currency, suffix, prices]) =>
      tiers.map((tier, index) => [
        `${currency} ${region}-video-2-0-${tier}-${suffix}`,
        prices[index],
      ]),
    ),
  )
  expected.set('CNY domestic-video-2-5-novideo', '70').set('CNY domestic-video-2-5-video', '42')
  expected.set('USD overseas-video-2-5-novideo', '10.7').set('USD overseas-video-2-5-video', '6.4')
  expected.set('USD image-2.5-text-input', '5').set('USD image-2.5-cached-text-input', '1.25')
  expected.set('USD image-2.5-image-input', '8').set('USD image-2.5-cached-image-input', '2')
  expected.set('USD image-2.5-image-output', '30')
  t.equal(expected.size, 33)
  const listed = withoutDemonstrations(shippedDocument).entries
  t.strictSame(
    new Map(listed.map((entry) => [`${entry.currency} ${entry.sku}`, entry.price])),
    new Map([...expected].sort(([a], [b]) => (a < b ? -1 : 1))),
    'these and no others are not marked as demonstrations',
  )
  t.ok(listed.every((entry) => entry.unit === 'token' && entry.per === 1_000_000))
})

t.test('SKUs without a published price have marked demonstration prices', async (t) => {
  const models = ['text-basic', 'text-cache', 'text-reason', 'text-tools', 'gen-3-pro-preview-file']
  const kinds = ['input', 'cached-input', 'cache-write-5m', 'cache-write-1h', 'output']
  const skus = models.flatMap((model) => kinds.map((kind) => `${model}-${kind}-token`))
  for (const sku of [...skus, 'web-search-call', 'code-interpreter-session', 'file-search-call'])
    t.match(shippedBook.lookup(sku, 'USD'), { sku, demonstration: true }, sku)
  const search = shippedBook.lookup('domestic-video-2-5-web-search', 'CNY')
  t.match(search, { unit: 'call', per: 1, demonstration: true })
})

t.test('the shipped entries fit the persisted schema', async (t) => {
  for (const entry of shippedDocument.entries) t.ok(Value.Check(PriceEntrySchema, entry), entry.sku)
})

t.test('entries are canonical and in the order of their SKUs', async (t) => {
  const prices = [
    { ...price, sku: 'b' },
    { ...price, demonstration: false },
    { ...price, currency: 'CNY' },
  ]
  const { entries } = priceBookFromDocument({ ...document, prices }, anyUnit)
  t.strictSame(
    entries.map((entry) => [entry.sku, entry.currency, entry.price, 'demonstration' in entry]),
    [
      ['a-sku', 'CNY', '4.3', false],
      ['a-sku', 'USD', '4.3', false],
      ['b', 'USD', '4.3', false],
    ],
  )
})

t.test('the digest covers the prices, whatever their order or spelling', async (t) => {
  const digest = priceBookDigest(shippedDocument.entries)
  t.match(digest, /^[0-9a-f]{64}$/)
  t.equal(priceBookDigest(shippedDocument.entries.toReversed()), digest)
  const [first, ...rest] = shippedDocument.entries
  t.ok(first)
  if (!first) return
  t.equal(priceBookDigest([{ ...first, price: `0${first.price}` }, ...rest]), digest)
  for (const change of [{ price: '99' }, { per: 1_000 as const }, { unit: 'x' }, { sku: 'x' }])
    t.not(priceBookDigest([{ ...first, ...change }, ...rest]), digest, JSON.stringify(change))
  t.not(priceBookDigest(rest), digest)
})

t.test('without demonstration prices the book has a separate version', async (t) => {
  const listed = withoutDemonstrations(shippedDocument)
  t.equal(listed.version, `${shippedDocument.version}-list`)
  t.notOk(listed.entries.some((entry) => entry.demonstration))
  t.equal(withoutDemonstrations(listed), listed, 'nothing to leave out, nothing to rename')
})

t.test('a price is in the unit that its SKU counts', async (t) => {
  const counted = [
    ['text-basic-input-token', 'token'],
    ['text-own-cached-input-token-priority', 'token'],
    ['web-search-call', 'call'],
    ['code-interpreter-session', 'session'],
    ['h3-768p-second', 'second'],
    ['h3-extra-input-image', 'image'],
    ['domestic-video-2-5-video', 'token'],
    ['domestic-video-2-5-web-search', 'call'],
    ['clipq2-credit', 'credit'],
    ['image-2-low-image', 'image'],
    ['image-2.5-text-input', 'token'],
    ['gen-3-pro-image-preview-4k-image', 'image'],
    ['gen-3-pro-image-preview-input-token', 'token'],
    ['artB-5.0-image', 'image'],
    ['speech-2.8-hd-character', 'character'],
    ['voice-clone', 'voice'],
  ]
  for (const [sku = '', unit = ''] of counted) {
    const read = (given: string) =>
      priceBookFromDocument(
        { ...document, prices: [{ ...price, sku, unit: given }] },
        catalog.unitOf,
      )
    t.equal(read(unit).entries[0]?.unit, unit, sku)
    for (const other of ['fortnight', `${unit}s`])
      t.throws(() => read(other), {
        code: 'price_book_invalid',
        message: `prices[0].unit is wrong: ${sku} is not counted in \`${other}\`: did you mean \`${unit}\`?`,
        details: { param: 'prices[0].unit' },
      })
  }
  const future = { ...price, sku: 'of-a-future-model', unit: 'fortnight' }
  t.equal(
    priceBookFromDocument({ ...document, prices: [future] }, catalog.unitOf).entries[0]?.unit,
    'fortnight',
  )
})

t.test('a broken document is refused, naming the place', async (t) => {
  const withPrice = (changes: object): unknown => ({
    ...document,
    prices: [{ ...price, ...changes }],
  })
  const bad: readonly (readonly [unknown, string])[] = [
    [null, 'the price book'],
    ['text', 'the price book'],
    [[document], 'the price book'],
    [{ ...document, extra: 1 }, 'the price book'],
    [{ ...document, version: undefined }, 'version'],
    [{ ...document, version: 1 }, 'version'],
    [{ ...document, version: '' }, 'version'],
    [{ ...document, version: 'a b' }, 'version'],
    [{ ...document, effective_from: '2026' }, 'effective_from'],
    [{ ...document, effective_from: '2026-13-01T00:00:00Z' }, 'effective_from'],
    [{ ...document, effective_from: new Date(0) }, 'effective_from'],
    ...[
      '2027-02-30T00:00:00Z',
      '2027-01-01T00:00:00+16:00',
      '2027-01-01T00:00:00-14:01',
      '0000-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '9999-12-31T23:59:59.9999999Z',
      '2027-01-01',
    ].map((time) => [{ ...document, effective_from: time }, 'effective_from'] as const),
    [{ ...document, prices: undefined }, 'prices'],
    [{ ...document, prices: [] }, 'prices'],
    [{ ...document, prices: {} }, 'prices'],
    [{ ...document, prices: Array.from({ length: maxPriceEntries + 1 }, () => price) }, 'prices'],
    [{ ...document, prices: [price, price] }, 'prices[1]'],
    [{ ...document, prices: [price, null] }, 'prices[1]'],
    [withPrice({ rounding: 'up' }), 'prices[0]'],
    [withPrice({ sku: '' }), 'prices[0].sku'],
    [withPrice({ sku: 5 }), 'prices[0].sku'],
    [withPrice({ currency: 'EUR' }), 'prices[0].currency'],
    [withPrice({ currency: 'usd' }), 'prices[0].currency'],
    [withPrice({ unit: '' }), 'prices[0].unit'],
    [withPrice({ per: 100 }), 'prices[0].per'],
    [withPrice({ per: '1000' }), 'prices[0].per'],
    [withPrice({ price: 4.3 }), 'prices[0].price'],
    [withPrice({ price: '-1' }), 'prices[0].price'],
    [withPrice({ price: '1e3' }), 'prices[0].price'],
    [withPrice({ price: '01' }), 'prices[0].price'],
    [withPrice({ price: '00.5' }), 'prices[0].price'],
    [withPrice({ price: '0.0000001' }), 'prices[0].price'],
    [withPrice({ price: '1234567890' }), 'prices[0].price'],
    [withPrice({ demonstration: 'yes' }), 'prices[0].demonstration'],
  ]
  for (const [value, at] of bad) {
    try {
      priceBookFromDocument(value, anyUnit)
      t.fail(`accepted: ${JSON.stringify(value).slice(0, 200)}`)
    } catch (error) {
      t.ok(
        isDomainError(error, 'price_book_invalid') && error.details['param'] === at,
        String(error),
      )
    }
  }
})
