import t from 'tap'
import { artBFamily } from '../../../../src/families/art-b/module.ts'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import { imageCallRules, quoteImages } from '../../../../src/domain/catalog/image-rules.ts'
import { priceBookFromPublished, unpricedSkus } from '../../../../src/domain/pricing/price-book.ts'
import { formatAmount } from '../../../../src/kernel/money.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import { order } from './orders.ts'

const rules = imageCallRules(artBFamily)
const web = 'https://media.example.com/a.png'
const search = { tools: [{ type: 'web_search' }] }
const terms = (fields: Readonly<Record<string, unknown>> = {}, model?: string) =>
  rules.price(readArtBOrder(order(fields, model)), shippedBook)
const linesOf = (made: ReturnType<ReturnType<typeof terms>['settle']>) =>
  made?.settlement.lines.map(({ sku, quantity, amount }) => [sku, quantity, amount])

void t.test('a picture costs its model’s price, whatever its size, in CNY', async (t) => {
  const prices = { 'artB-5.0': '0.25', 'artB-5.0-lite': '0.22', 'artB-5.0-pro': '0.4' }
  for (const [model, price] of Object.entries(prices)) {
    const priced = terms({}, model)
    t.equal(priced.currency, 'CNY')
    const settled = priced.settle({ usage: { image: 3 }, output: {} })
    t.match(settled?.settlement.lines, [
      { sku: `${model}-image`, rule: 'art-b/picture', quantity: 3, unit: 'image', price },
    ])
  }
})

void t.test('searches are billed by the count made, not for being offered', async (t) => {
  const priced = terms(search)
  const made = (searches?: number) =>
    linesOf(
      priced.settle({
        usage: { image: 1, ...(searches === undefined ? {} : { 'web-search-call': searches }) },
        output: {},
      }),
    )
  const picture = ['artB-5.0-image', 1, '0.25']
  t.same(made(2), [picture, ['web-search-call', 2, '0.06']])
  t.same(made(0), [picture])
  t.same(made(), [picture], 'a count that is missing is no search')
  const notOffered = terms().settle({ usage: { image: 1, 'web-search-call': 2 }, output: {} })
  t.same(linesOf(notOffered), [picture], 'what was not offered is not billed')
})

void t.test('an explicit zero is settled as zero', async (t) => {
  const settled = terms().settle({ usage: { image: 0, 'output-token': 5 }, output: {} })
  t.same(settled?.settlement, { ...settled?.settlement, amount: '0', lines: [] })
})

void t.test('the hold covers every possible picture, every layer and some searches', async (t) => {
  const held = (fields?: Readonly<Record<string, unknown>>, model?: string) =>
    formatAmount(terms(fields, model).holdPico)
  const group = { sequential_image_generation: 'auto' }
  t.equal(held(), '0.25')
  t.equal(held(group), '3.75')
  t.equal(held({ ...group, image: [web, web] }), '3.25')
  t.equal(held(search), '0.34')
  const pro = terms({}, 'artB-5.0-pro').holdPico
  t.equal(terms({ image: web }, 'artB-5.0-pro').holdPico, pro * 17n)
})

void t.test(
  'a model without a picture price is not sold; only searches need the search price',
  async (t) => {
    const without = (gone: string) =>
      priceBookFromPublished({
        version: 'b1',
        entries: [
          { sku: 'artB-5.0-image', currency: 'CNY', unit: 'image', per: 1, price: '1' } as const,
          { sku: 'web-search-call', currency: 'CNY', unit: 'call', per: 1, price: '1' } as const,
        ].filter(({ sku }) => sku !== gone),
      })
    const { facts } = readArtBOrder(order(search))
    const plain = readArtBOrder(order())
    const ask = { model: 'artB-5.0', facts }
    t.throws(() => quoteImages(artBFamily, ask, without('artB-5.0-image')), {
      code: 'price_not_configured',
    })
    t.throws(() => quoteImages(artBFamily, ask, without('web-search-call')), {
      code: 'price_not_configured',
      details: { sku: 'web-search-call' },
    })
    t.equal(quoteImages(artBFamily, plain, without('web-search-call')).hold, '1')
    t.same(
      unpricedSkus(
        rules.prices('artB-5.0', without('artB-5.0-image'), []),
        without('artB-5.0-image'),
      ),
      ['artB-5.0-image'],
    )
  },
)

void t.test('the cost of a failure is its seen usage, or the dearest outcome', async (t) => {
  const priced = terms({ sequential_image_generation: 'auto' })
  t.equal(priced.estimate({ usage: { image: 2 }, output: {} }).settlement.amount, '0.5')
  t.equal(priced.estimate(undefined).settlement.amount, '3.75')
})
