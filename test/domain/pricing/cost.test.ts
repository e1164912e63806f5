import t from 'tap'
import { costOf, MAX_COST_PARTS, OTHER_PARTS } from '../../../src/domain/pricing/settlement.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'

const frozen = { currency: 'USD', priceBookVersion: '2026-01' } as const

t.test('the cost of one SKU is one part, in the order of the lines', (t) => {
  const lines = [
    { sku: 'b', amount: '0.1' },
    { sku: 'a', amount: '0.000000000001' },
    { sku: 'b', amount: '0.2' },
  ]
  t.same(costOf({ ...frozen, amount: '0.300000000001', lines }).split, [
    { sku: 'b', amount: '0.3' },
    { sku: 'a', amount: '0.000000000001' },
  ])
  t.end()
})

t.test('SKUs beyond the named ones are summed as one part', (t) => {
  const lines = Array.from({ length: 40 }, (_, n) => ({ sku: `sku-${n}`, amount: '0.01' }))
  const { split } = costOf({ ...frozen, amount: '0.4', lines })
  t.equal(split.length, MAX_COST_PARTS + 1)
  t.same(split.at(-1), { sku: OTHER_PARTS, amount: '0.24' })
  const sum = split.reduce((total, { amount }) => total + parseAmount(amount), 0n)
  t.equal(formatAmount(sum), '0.4')
  t.end()
})

t.test('a free result has no cost parts', (t) => {
  t.same(costOf({ ...frozen, amount: '0', lines: [] }), { ...frozen, amount: '0', split: [] })
  t.end()
})
