import * as fc from 'fast-check'
import t from 'tap'
import { percentOf, priceChangePercent } from '../../../src/domain/pricing/price-change.ts'

t.test('prices are compared per unit, whatever their quantity', async (t) => {
  const change = (before: string, after: string) =>
    priceChangePercent({ price: before, per: 1_000_000 }, { price: after, per: 1_000_000 })
  t.equal(change('46', '46.5'), '+1.09')
  t.equal(change('46', '39.1'), '-15.00')
  t.equal(change('3', '4'), '+33.33')
  t.equal(change('3', '5'), '+66.67')
  t.equal(change('1', '0'), '-100.00')
  t.equal(change('0', '0'), '0.00')
  t.equal(change('0', '1'), undefined, 'no per cent say it')
  t.equal(change('100000', '100000.000001'), '0.00', 'too little to say')
  t.equal(priceChangePercent({ price: '2', per: 1_000 }, { price: '2000', per: 1_000_000 }), '0.00')
  t.equal(priceChangePercent({ price: '0.001', per: 1 }, { price: '1.5', per: 1_000 }), '+50.00')
})

t.test('equal steps up and down have one percentage, but for the sign', async () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 20n), fc.bigInt(0n, 10n ** 20n), (before, by) => {
      const [up = '', down = ''] = [percentOf(before, before + by), percentOf(before, before - by)]
      return up.replace('+', '') === down.replace('-', '')
    }),
  )
})
