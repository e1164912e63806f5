import { wires } from '../wires.ts'
import * as fc from 'fast-check'
import t from 'tap'
import { recomputeLine } from '../../../../src/app/audit/recompute.ts'
import { noTextUsage, type TextUsage } from '../../../../src/families/text/rules/tokens.ts'
import type { PriceEntry } from '../../../../src/domain/pricing/events.ts'
import { priceBookFromPublished } from '../../../../src/domain/pricing/price-book.ts'
import { holdText, quoteText, settleText } from '../../../../src/families/text/rules/pricing.ts'
import { parseAmount } from '../../../../src/kernel/money.ts'

const reported = () => 'reported' as const
const estimated = () => 'estimated' as const

const entry = (sku: string, price: string, more: Partial<PriceEntry> = {}): PriceEntry => ({
  sku,
  currency: 'USD',
  unit: 'token',
  price,
  per: 1_000_000,
  ...more,
})
const full = [
  entry('m-input-token', '2'),
  entry('m-cached-input-token', '0.2'),
  entry('m-cache-write-5m-token', '2.5'),
  entry('m-cache-write-1h-token', '4'),
  entry('m-output-token', '8'),
  entry('web-search-call', '10', { unit: 'call', per: 1_000 }),
  entry('code-interpreter-session', '0.03', { unit: 'session', per: 1 }),
  entry('file-search-call', '2.5', { unit: 'call', per: 1_000 }),
]
const bookOf = (entries: readonly PriceEntry[]) => priceBookFromPublished({ version: '1', entries })
const usage: TextUsage = {
  input: 1_000,
  'cached-input': 200,
  'cache-write-5m': 30,
  'cache-write-1h': 4,
  output: 500,
  'web-search-call': 3,
  'code-interpreter-session': 2,
  'file-search-call': 1,
}
const allTools = ['web-search', 'code-interpreter', 'file-search'] as const

t.test('every unit is a line with its SKU, price and rule', async (t) => {
  const settled = settleText(quoteText('m', wires.chat, allTools, bookOf(full)), usage, reported)
  t.same(
    settled.lines.map((line) => [line.sku, line.rule, line.quantity, line.amount]),
    [
      ['m-input-token', 'text/chat/input', 1_000, '0.002'],
      ['m-cached-input-token', 'text/chat/cached-input', 200, '0.00004'],
      ['m-cache-write-5m-token', 'text/chat/cache-write-5m', 30, '0.000075'],
      ['m-cache-write-1h-token', 'text/chat/cache-write-1h', 4, '0.000016'],
      ['m-output-token', 'text/chat/output', 500, '0.004'],
      ['web-search-call', 'text/chat/web-search-count', 3, '0.03'],
      ['code-interpreter-session', 'text/chat/code-interpreter-count', 2, '0.06'],
      ['file-search-call', 'text/chat/file-search-count', 1, '0.0025'],
    ],
  )
  t.equal(settled.amount, '0.098631')
  t.equal(settled.currency, 'USD')
})

t.test('a cache without prices is billed at the input price, under its own rule', async (t) => {
  const book = bookOf([entry('m-input-token', '2'), entry('m-output-token', '8')])
  const settled = settleText(quoteText('m', wires.native, [], book), usage, estimated)
  t.same(
    settled.lines.map((line) => [line.sku, line.rule, line.quantity, line.measurement]),
    [
      ['m-input-token', 'text/native/input', 1_000, 'estimated'],
      ['m-input-token', 'text/native/cached-input/at-input-rate', 200, 'estimated'],
      ['m-input-token', 'text/native/cache-write-5m/at-input-rate', 30, 'estimated'],
      ['m-input-token', 'text/native/cache-write-1h/at-input-rate', 4, 'estimated'],
      ['m-output-token', 'text/native/output', 500, 'estimated'],
    ],
  )
})

t.test('a call without a price of input, output or an offered tool is refused', async (t) => {
  const without = (sku: string) => bookOf(full.filter((one) => one.sku !== sku))
  for (const sku of ['m-input-token', 'm-output-token', 'web-search-call'])
    t.throws(() => quoteText('m', wires.chat, allTools, without(sku)), {
      code: 'price_not_configured',
      details: { sku },
    })
  t.doesNotThrow(() => quoteText('m', wires.chat, [], without('web-search-call')))
})

t.test('a model is billed in the one currency that prices its input', async (t) => {
  const yuan = full.map((one) => ({ ...one, currency: 'CNY' as const, price: '7' }))
  t.equal(quoteText('m', wires.chat, [], bookOf(yuan)).currency, 'CNY')
  t.equal(quoteText('m', wires.chat, [], bookOf([...yuan, ...full])).currency, 'USD')
  const mixed = [
    entry('m-input-token', '2'),
    { ...entry('m-output-token', '8'), currency: 'CNY' as const },
  ]
  t.throws(() => quoteText('m', wires.chat, [], bookOf(mixed)), { code: 'price_not_configured' })
})

t.test(
  'zero is a settlement without lines; tools that were not offered are not billed',
  async (t) => {
    const quote = quoteText('m', wires.responses, ['web-search'], bookOf(full))
    const zero = settleText(quote, noTextUsage, reported)
    t.same([zero.amount, zero.lines], ['0', []])
    t.same(
      settleText(
        quote,
        { ...noTextUsage, 'web-search-call': 1, 'file-search-call': 5 },
        reported,
      ).lines.map((line) => line.sku),
      ['web-search-call'],
    )
  },
)

t.test('a chat that searched unasked is billed for it, without a hold for it', async (t) => {
  const searched = { ...noTextUsage, 'web-search-call': 1 }
  const quote = quoteText('m', wires.chat, [], bookOf(full))
  t.same(
    settleText(quote, searched, reported).lines.map((line) => [line.sku, line.rule]),
    [['web-search-call', 'text/chat/web-search-count']],
  )
  const asked = quoteText('m', wires.chat, ['web-search'], bookOf(full))
  const expected = { inputTokens: 10, outputTokens: 10 }
  t.equal(holdText(asked, expected) - holdText(quote, expected), parseAmount('0.03'))
  const unpriced = bookOf(full.filter(({ sku }) => sku !== 'web-search-call'))
  t.same(settleText(quoteText('m', wires.chat, [], unpriced), searched, reported).lines, [])
  t.same(settleText(quoteText('m', wires.native, [], bookOf(full)), searched, reported).lines, [])
})

// Larger amounts cannot be booked: see `settlementLine`.
const count = fc.integer({ min: 0, max: 2 ** 36 })
const anyUsage: fc.Arbitrary<TextUsage> = fc.record({
  input: count,
  'cached-input': count,
  'cache-write-5m': count,
  'cache-write-1h': count,
  output: count,
  'web-search-call': count,
  'code-interpreter-session': count,
  'file-search-call': count,
})
const price = fc
  .tuple(fc.integer({ min: 0, max: 9_999 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([whole, micro]) => `${whole}.${String(micro).padStart(6, '0')}`)

t.test('lines are exact, sum to the amount, and each unit of usage is billed once', async (t) => {
  fc.assert(
    fc.property(anyUsage, fc.array(price, { minLength: 8, maxLength: 8 }), (used, prices) => {
      const book = bookOf(full.map((one, at) => ({ ...one, price: prices[at] ?? '1' })))
      const settled = settleText(quoteText('m', wires.chat, allTools, book), used, reported)
      let sum = 0n
      for (const line of settled.lines) {
        if (recomputeLine(line) !== parseAmount(line.amount)) return false
        sum += parseAmount(line.amount)
      }
      const quantities = settled.lines.map((line) => line.quantity).toSorted((a, b) => a - b)
      const counts = Object.values(used)
        .filter((one) => one > 0)
        .toSorted((a, b) => a - b)
      return sum === parseAmount(settled.amount) && quantities.join() === counts.join()
    }),
  )
  t.pass()
})

t.test(
  'a hold covers any split of the input by the cache, within the expected output',
  async (t) => {
    const quote = quoteText('m', wires.chat, [], bookOf(full))
    fc.assert(
      fc.property(
        fc.tuple(fc.nat(1e9), fc.nat(1e9), fc.nat(1e9), fc.nat(1e9), fc.nat(1e9)),
        ([input, cachedInput, cacheWrite5m, cacheWrite1h, output]) => {
          const used = {
            ...noTextUsage,
            input,
            'cached-input': cachedInput,
            'cache-write-5m': cacheWrite5m,
            'cache-write-1h': cacheWrite1h,
            output,
          }
          const inputTokens = input + cachedInput + cacheWrite5m + cacheWrite1h
          const hold = holdText(quote, { inputTokens, outputTokens: output })
          return hold >= parseAmount(settleText(quote, used, reported).amount)
        },
      ),
    )
    t.pass()
  },
)
