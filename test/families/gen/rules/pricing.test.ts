import { genUsage } from '../../../../src/families/gen/upstream/wire.ts'
import t from 'tap'
import { genModels } from '../../../../src/families/gen/rules/models.ts'
import { readGenOrder } from '../../../../src/families/gen/rules/request.ts'
import { genFamily } from '../../../../src/families/gen/module.ts'
import { imageCallRules } from '../../../../src/domain/catalog/image-rules.ts'
import { formatAmount } from '../../../../src/kernel/money.ts'
import { unpricedSkus } from '../../../../src/domain/pricing/price-book.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import { order, png } from '../../image/rules/orders.ts'

const rules = imageCallRules(genFamily)
const PRO = 'gen-3-pro-image-preview'

function priced(fields: Readonly<Record<string, unknown>>, model: string, isEdit = false) {
  const edited = {
    kind: 'edit',
    form: 'multipart',
    uploads: [{ name: 'image', bytes: png }],
  } as const
  return rules.price(readGenOrder(order(fields, { model, ...(isEdit ? edited : {}) })), shippedBook)
}

t.test('a picture is one line, at the requested size, whatever its tokens', async (t) => {
  const usage = { image: 1, input: 500, output: 2_500 }
  for (const { name, tiers } of genModels)
    for (const size of tiers) {
      const terms = priced({ size }, name)
      const settled = terms.settle({ usage, output: { size } })
      t.match(settled?.settlement.lines, [
        {
          sku: `${name}-${size.toLowerCase()}-image`,
          quantity: 1,
          rule: 'gen/picture/requested-size',
        },
      ])
      t.equal(settled?.settlement.lines.length, 1)
      t.equal(formatAmount(terms.holdPico), settled?.settlement.amount, 'held at what it costs')
    }
})

t.test('no size is 1K, and one picture is one picture', async (t) => {
  const sku = (model: string) =>
    priced({}, model).settle({ usage: { image: 1 }, output: {} })?.settlement.lines[0]?.sku
  t.equal(sku('gen-2.5-flash-image'), 'gen-2.5-flash-image-1k-image')
  t.equal(sku('gen-3.1-flash-image'), 'gen-3.1-flash-image-1k-image')
  t.equal(sku(PRO), `${PRO}-1k-image`)
})

t.test('an inferred size is billed as made, and held as the largest', async (t) => {
  const terms = priced({}, PRO, true)
  t.equal(formatAmount(terms.holdPico), '0.24')
  t.match(terms.settle({ usage: { image: 1 }, output: { size: '2K' } })?.settlement.lines, [
    { sku: `${PRO}-2k-image`, rule: 'gen/picture/inferred-size' },
  ])
  t.equal(terms.settle({ usage: { image: 1 }, output: {} }), undefined, 'unknown: not settled')
  t.equal(terms.settle({ usage: { image: 1 }, output: { size: '9K' } }), undefined)
})

t.test('without a picture only the input is billed, as upstream counted it', async (t) => {
  const terms = priced({ size: '4K' }, PRO)
  const settled = terms.settle({ usage: { image: 0, input: 268, output: 0 }, output: {} })
  t.match(settled?.settlement.lines, [
    { sku: `${PRO}-input-token`, quantity: 268, rule: 'gen/input-tokens/no-picture' },
  ])
  t.same(terms.settle({ usage: { image: 0 }, output: {} })?.settlement.lines, [])
})

t.test('every SKU of every model has a price in the shipped book', async (t) => {
  for (const { name } of genModels)
    t.same(unpricedSkus(rules.prices(name, shippedBook, []), shippedBook), [], name)
})

t.test('usage beyond exact integers is capped, and billed to no caller', (t) => {
  const most = Number.MAX_SAFE_INTEGER
  t.match(
    genUsage({ promptTokenCount: most, toolUsePromptTokenCount: most, thoughtsTokenCount: most }),
    {
      input_tokens: most,
      total_tokens: most,
    },
  )
  t.end()
})
