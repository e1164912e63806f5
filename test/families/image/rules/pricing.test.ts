import t from 'tap'
import { imageCallRules, quoteImages } from '../../../../src/domain/catalog/image-rules.ts'
import { imageFamily } from '../../../../src/families/image/module.ts'
import { readImageOrder } from '../../../../src/families/image/rules/request.ts'
import { priceBookFromPublished, unpricedSkus } from '../../../../src/domain/pricing/price-book.ts'
import { order } from './orders.ts'

const entry = (sku: string, price: string, per: 1 | 1_000_000, unit: string) =>
  ({ sku, currency: 'USD', unit, price, per }) as const
const book = priceBookFromPublished({
  version: 'v1',
  entries: [
    entry('image-2-low-image', '0.011', 1, 'image'),
    entry('image-2-medium-image', '0.042', 1, 'image'),
    entry('image-2-high-image', '0.167', 1, 'image'),
    entry('image-2.5-text-input', '5', 1_000_000, 'token'),
    entry('image-2.5-cached-text-input', '1.25', 1_000_000, 'token'),
    entry('image-2.5-image-input', '8', 1_000_000, 'token'),
    entry('image-2.5-cached-image-input', '2', 1_000_000, 'token'),
    entry('image-2.5-image-output', '30', 1_000_000, 'token'),
  ],
})
const rules = imageCallRules(imageFamily)

function priced(fields: Readonly<Record<string, unknown>>, model = 'image-2') {
  return rules.price(readImageOrder(order(fields, { model })), book)
}

t.test('image-2 is billed by the delivered pictures, at the requested quality', async (t) => {
  const terms = priced({ n: 3, quality: 'medium' })
  const rated = terms.settle({ usage: { image: 2 }, output: { quality: 'high' } })
  t.match(rated?.settlement, {
    amount: '0.084',
    lines: [{ sku: 'image-2-medium-image', quantity: 2, rule: 'image/picture/requested-quality' }],
  })
  t.equal(terms.holdPico, 126_000_000_000n)
})

t.test('auto is billed at the reported quality, else low, and held at the dearest', async (t) => {
  const terms = priced({ quality: 'auto' })
  const sku = (quality?: string) =>
    terms.settle({ usage: { image: 1 }, output: quality === undefined ? {} : { quality } })
      ?.settlement.lines[0]?.sku
  t.equal(sku('high'), 'image-2-high-image')
  t.equal(sku('ultra'), 'image-2-low-image')
  t.equal(sku(), 'image-2-low-image')
  t.equal(terms.holdPico, 167_000_000_000n)
})

t.test('2.5 is billed by the tokens reported; without them there is no settlement', async (t) => {
  const terms = priced({ size: '1K' }, 'image-2.5-sunburst')
  const usage = {
    image: 1,
    'text-input': 40,
    'cached-text-input': 10,
    'image-input': 300,
    'cached-image-input': 23,
    'image-output': 272,
  }
  const rated = terms.settle({ usage, output: {} })
  // 40×5 + 10×1.25 + 300×8 + 23×2 + 272×30 = 10,818.5 per million
  t.equal(rated?.settlement.amount, '0.0108185')
  t.equal(rated?.settlement.lines.length, 5)
  t.equal(terms.settle({ usage: { image: 1 }, output: {} }), undefined)
  t.match(terms.estimate(undefined), { measurement: 'estimated' })
  t.equal(terms.estimate({ usage, output: {} }).settlement.amount, '0.0108185')
})

t.test('an explicit zero is a settlement without lines', async (t) => {
  const terms = priced({}, 'image-2.5-flare')
  const nothing = { image: 1, 'text-input': 0, 'image-input': 0, 'image-output': 0 }
  t.match(terms.settle({ usage: nothing, output: {} })?.settlement, { amount: '0', lines: [] })
})

t.test('the hold grows with size, count and quality', async (t) => {
  const hold = (fields: Readonly<Record<string, unknown>>) =>
    priced(fields, 'image-2.5-flare').holdPico
  t.ok(hold({ size: '2K' }) > hold({ size: '1K' }))
  t.ok(hold({ n: 2 }) > hold({ n: 1 }))
  t.ok(hold({ quality: 'max' }) > hold({ quality: 'low' }))
  t.ok(hold({ size: 'auto' }) >= hold({ size: '4K' }))
})

t.test('a SKU without a price refuses the call, and is named as lacking', async (t) => {
  const empty = priceBookFromPublished({ version: 'v0', entries: [] })
  const asked = readImageOrder(order())
  t.throws(() => quoteImages(imageFamily, asked, empty), {
    code: 'price_not_configured',
    details: { sku: 'image-2-low-image' },
  })
  t.strictSame(unpricedSkus(rules.prices('image-2-high', empty, []), empty), ['image-2-high-image'])
  t.equal(unpricedSkus(rules.prices('image-2.5-flare', empty, []), empty).length, 5)
  t.strictSame(unpricedSkus(rules.prices('image-2.5-flare', book, []), book), [])
})

t.test(
  'tokens above four times the hold are those expected of the pictures that came',
  async (t) => {
    const terms = priced({ size: '1024x1024', quality: 'low', n: 3 }, 'image-2.5-sunburst')
    const usage = { image: 1, 'text-input': 40, 'image-output': Number.MAX_SAFE_INTEGER }
    for (const rated of [
      terms.settle({ usage, output: {} }),
      terms.estimate({ usage, output: {} }),
    ])
      t.match(rated, {
        measurement: 'estimated',
        usage: { image: 1, 'image-output': 272 },
        settlement: { lines: [{ measurement: 'estimated' }, { measurement: 'estimated' }] },
        doubted: { figures: usage, notes: [{ what: 'images', why: 'ceiling' }] },
      })
    const none = { ...usage, image: 0 }
    t.equal(terms.settle({ usage: none, output: {} }), undefined, 'nothing came, nothing is billed')
  },
)
