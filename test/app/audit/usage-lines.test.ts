import t from 'tap'
import { usageFaults } from '../../../src/app/audit/usage-lines.ts'
import type { SettlementLine } from '../../../src/domain/pricing/settlement.ts'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'
import { textRules } from '../../../src/families/text/rules/rules.ts'
import { noTextUsage } from '../../../src/families/text/rules/tokens.ts'
import { textFamilies, wires } from '../../families/text/wires.ts'
import { shippedBook } from '../../domain/pricing/books.ts'

const line = (rule: string, quantity: number): SettlementLine => ({
  sku: 'sku',
  rule,
  quantity,
  unit: 'token',
  price: '1',
  per: 1,
  amount: String(quantity),
  measurement: 'reported',
})
const codes = (usage: Readonly<Record<string, number>>, ...lines: SettlementLine[]) =>
  usageFaults(usage, { lines }).map(({ code }) => code)

t.test('a call is billed for its usage, by the rule of each line', (t) => {
  const usage = { ...noTextUsage, input: 10 }
  const input = 'text/chat/input'
  t.same(codes(usage, line(input, 10)), [])
  t.same(codes(usage, line('text/chat/flex/input', 10)), [])
  t.same(codes(usage, line(input, 1_000_000)), ['line_not_of_usage'])
  t.same(codes({ ...usage, output: 2_000_000 }), ['usage_not_billed', 'usage_not_billed'])
  t.same(codes(usage, line(input, 10), line(input, 10)), ['line_not_of_usage'], 'twice')
  t.same(
    codes(usage, line('image/picture/requested-quality', 1)),
    ['line_not_of_usage', 'usage_not_billed'],
    'text as a picture',
  )
  t.same(codes({ character: 7 }, line('speech/characters/reported', 7)), [])
  t.same(codes({ character: 7 }), ['usage_not_billed'])
  t.same(codes({ image: 2 }, line('art-b/picture', 3)), ['line_not_of_usage'])
  t.same(codes({ 'image-output': 5 }, line('image/tokens/image-output', 5)), [])
  t.end()
})

t.test('settlements made by the gateway have no finding', (t) => {
  const used = { input: 3, 'cached-input': 4, 'cache-write-5m': 5, 'cache-write-1h': 6, output: 7 }
  const usage = { ...noTextUsage, ...used, 'web-search-call': 2 }
  const bare = priceBookFromPublished({
    version: 'bare',
    entries: ['input', 'output'].map((unit) => ({
      sku: `text-basic-${unit}-token`,
      currency: 'USD' as const,
      unit: 'token',
      price: '1',
      per: 1_000_000 as const,
    })),
  })
  const output = () => ({ bytes: 0, characters: 0, answers: 1 })
  for (const wire of textFamilies)
    for (const book of [shippedBook, bare]) {
      const terms = textRules(wires[wire]).price(
        {
          wire: wires[wire],
          model: 'text-basic',
          body: {},
          inputSize: { characters: 4, mediaBytes: 0 },
          largestOutputTokens: 100,
        },
        book,
      )
      const rated = terms.settle({ usage, output, finished: true })
      t.ok(rated && rated.settlement.lines.length >= 5)
      t.same(rated && usageFaults(rated.usage, rated.settlement), [], wire)
    }
  t.end()
})
