import * as fc from 'fast-check'
import t from 'tap'
import {
  type RatedSku,
  settlement,
  settlementLine,
} from '../../../src/domain/pricing/settlement.ts'
import { canonicalPrice, lineAmount, parseAmount, type Per } from '../../../src/kernel/money.ts'

const rated: RatedSku = { sku: 's', rule: 'r', unit: 'token', price: '4.3', per: 1_000_000 }
const frozen = { priceBookVersion: 'v1', currency: 'USD' as const }

t.test('a line carries everything that recomputes it', async (t) => {
  t.strictSame(settlementLine(rated, 4_823, 'reported'), {
    sku: 's',
    rule: 'r',
    quantity: 4_823,
    unit: 'token',
    price: '4.3',
    per: 1_000_000,
    amount: '0.0207389',
    measurement: 'reported',
  })
})

t.test('a zero quantity writes no line, an unsafe one throws', async (t) => {
  t.equal(settlementLine(rated, 0, 'reported'), undefined)
  for (const quantity of [-1, 1.5, 2 ** 53, Number.NaN])
    t.throws(() => settlementLine(rated, quantity, 'reported'), RangeError)
})

t.test('a settlement without lines is worth zero', async (t) => {
  t.strictSame(settlement(frozen, [undefined]), { ...frozen, amount: '0', lines: [] })
})

t.test('a settlement is the exact sum of its lines, also of a thousand small tasks', async (t) => {
  const line = settlementLine(rated, 4_823, 'reported')
  const thousand = settlement(
    frozen,
    Array.from({ length: 1_000 }, () => line),
  )
  t.equal(thousand.amount, '20.7389')
})

t.test('any lines add up to the amount, each recomputable from its own figures', async (t) => {
  const line = fc
    .tuple(
      fc.maxSafeNat(),
      fc.nat(999_999_999),
      fc.nat(999_999),
      fc.constantFrom<Per>(1, 1_000, 1_000_000),
    )
    .map(([quantity, whole, micro, per]) => {
      const price = canonicalPrice(`${whole}.${String(micro).padStart(6, '0')}`)
      return settlementLine({ ...rated, price, per }, quantity, 'estimated')
    })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const { amount, lines: written } = settlement(frozen, lines)
      const recomputed = written.map((line) => lineAmount(line.quantity, line.price, line.per))
      return (
        written.every((line, index) => parseAmount(line.amount) === recomputed[index]) &&
        parseAmount(amount) === recomputed.reduce((sum, pico) => sum + pico, 0n)
      )
    }),
    { numRuns: 1_000 },
  )
  t.pass('1000 settlements')
})

t.test('a line beyond a bookable amount is capped and marked as estimated', async (t) => {
  const absurd = { ...rated, price: '999999999.999999', per: 1 as const }
  const line = settlementLine(absurd, Number.MAX_SAFE_INTEGER, 'reported')
  t.match(line, { quantity: 1_000_000, measurement: 'estimated' })
  t.equal(line && lineAmount(line.quantity, line.price, line.per), parseAmount(line?.amount ?? ''))
  t.match(settlementLine(absurd, 1_000_000, 'reported'), { measurement: 'reported' })
  t.match(settlementLine(absurd, 1_000_001, 'reported'), { quantity: 1_000_000 })
})
