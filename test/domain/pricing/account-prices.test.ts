import * as fc from 'fast-check'
import t from 'tap'
import { recomputeMultiplied } from '../../../src/app/audit/recompute.ts'
import { bookForAccount } from '../../../src/domain/pricing/account-prices.ts'
import type { PriceEntry } from '../../../src/domain/pricing/events.ts'
import { settlement, settlementLine } from '../../../src/domain/pricing/settlement.ts'
import { priceBookFromPublished, rate } from '../../../src/domain/pricing/price-book.ts'
import { canonicalPrice, multipliedPrice } from '../../../src/kernel/money.ts'

const entry = (sku: string, price: string, currency: 'CNY' | 'USD' = 'USD'): PriceEntry => ({
  sku,
  currency,
  unit: 'token',
  per: 1_000_000,
  price,
})
const book = priceBookFromPublished({
  version: 'v1',
  entries: [entry('a', '0.5'), entry('b', '46'), entry('b', '7', 'CNY')],
})

/** Up to 9 digits and 6 decimals. */
const decimal = (maxWhole: bigint) =>
  fc
    .tuple(fc.bigInt(0n, maxWhole), fc.bigInt(0n, 999_999n))
    .map(([whole, micro]) => canonicalPrice(`${whole}.${String(micro).padStart(6, '0')}`))

t.test('an account price replaces the list price, and is not multiplied', async (t) => {
  const own = [entry('a', '0.4'), entry('c', '3')]
  const view = bookForAccount(book, { revision: 3, multiplier: '0.5', prices: own })
  t.equal(view.version, 'v1')
  t.same(rate(view, 'a', 'USD', 'rule'), {
    sku: 'a',
    rule: 'rule',
    unit: 'token',
    price: '0.4',
    per: 1_000_000,
    accountPrice: { kind: 'own', revision: 3 },
  })
  t.match(view.lookup('c', 'USD'), { price: '3' }, 'also of what the list lacks')
  t.match(view.lookup('b', 'USD'), {
    price: '23',
    accountPrice: { kind: 'multiplied', revision: 3, list: '46', multiplier: '0.5' },
  })
  t.match(view.lookup('b', 'CNY'), { price: '3.5' }, 'each currency by itself')
  t.throws(() => rate(view, 'c', 'CNY', 'rule'), { code: 'price_not_configured' })
})

t.test('without a multiplier other prices are those of the list', async (t) => {
  const view = bookForAccount(book, {
    revision: 1,
    multiplier: undefined,
    prices: [entry('a', '1')],
  })
  t.equal(view.lookup('b', 'USD'), book.lookup('b', 'USD'))
})

t.test('a line names the account prices that priced it, other lines name none', async (t) => {
  const view = bookForAccount(book, { revision: 2, multiplier: '0.333333', prices: [] })
  const settled = settlement({ priceBookVersion: 'v1', currency: 'USD' }, [
    settlementLine(rate(view, 'a', 'USD', 'r'), 9, 'reported'),
    settlementLine(rate(book, 'a', 'USD', 'r'), 9, 'reported'),
  ])
  t.match(settled.lines, [
    {
      price: '0.166667',
      amount: '0.000001500003',
      accountPrice: { kind: 'multiplied', revision: 2, list: '0.5', multiplier: '0.333333' },
    },
    { price: '0.5', amount: '0.0000045' },
  ])
  t.notOk('accountPrice' in (settled.lines[1] ?? {}))
})

t.test('a product that exceeds a price’s range is refused, not cut', async (t) => {
  const dear = priceBookFromPublished({ version: 'v1', entries: [entry('a', '99999999.999999')] })
  const times = (multiplier: string) =>
    bookForAccount(dear, { revision: 1, multiplier, prices: [] }).lookup('a', 'USD')?.price
  t.equal(times('10'), '999999999.99999')
  t.equal(times('10.1'), undefined)
})

t.test('a half is rounded away from zero', async (t) => {
  for (const [price, multiplier, product] of [
    ['0.000001', '0.5', '0.000001'],
    ['0.000001', '0.499999', '0'],
    ['0.000003', '0.5', '0.000002'],
    ['0.5', '0.333333', '0.166667'],
    ['46', '0.85', '39.1'],
    ['4.3', '1', '4.3'],
    ['4.3', '0', '0'],
  ] as const)
    t.equal(multipliedPrice(price, multiplier), product, `${price} × ${multiplier}`)
  t.throws(() => multipliedPrice('1', '0.0000001'), RangeError)
  t.throws(() => multipliedPrice('1', '-1'), RangeError)
})

t.test('every product is rounded half up to a millionth, as an auditor would', async () => {
  const micro = (text: string): bigint => {
    const [whole = '0', fraction = ''] = text.split('.')
    return BigInt(whole + fraction.padEnd(6, '0'))
  }
  fc.assert(
    fc.property(decimal(9_999_999n), decimal(100n), (price, multiplier) => {
      const product = multipliedPrice(price, multiplier)
      // In 10⁻¹², the exact product is a whole number.
      const errorPico = micro(product) * 1_000_000n - micro(price) * micro(multiplier)
      return (
        errorPico > -500_000n &&
        errorPico <= 500_000n &&
        product === canonicalPrice(product) &&
        product === recomputeMultiplied(price, multiplier)
      )
    }),
    { numRuns: 2_000 },
  )
})
