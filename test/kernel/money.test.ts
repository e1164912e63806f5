import * as fc from 'fast-check'
import t from 'tap'
import {
  canonicalPrice,
  formatAmount,
  lineAmount,
  parseAmount,
  toQuantity,
  type Per,
} from '../../src/kernel/money.ts'

const pers: readonly Per[] = [1, 1_000, 1_000_000]

/** A canonical price: up to 9 digits and 6 decimals. */
const price = fc
  .tuple(fc.bigInt(0n, 999_999_999n), fc.bigInt(0n, 999_999n))
  .map(([whole, micro]) => canonicalPrice(`${whole}.${String(micro).padStart(6, '0')}`))
const quantity = fc.oneof(
  fc.nat(1_000_000),
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1),
)

/** Exact value as numerator over denominator, read by other means than the code under test. */
function rational(decimal: string): { readonly n: bigint; readonly d: bigint } {
  const [whole = '', fraction = ''] = decimal.split('.')
  return { n: BigInt(whole + fraction), d: 10n ** BigInt(fraction.length) }
}

t.test('an amount reads and writes as a canonical decimal string', async (t) => {
  const cases: readonly (readonly [string, bigint, string])[] = [
    ['0', 0n, '0'],
    ['-0', 0n, '0'],
    ['-0.000', 0n, '0'],
    ['1', 1_000_000_000_000n, '1'],
    ['007.50', 7_500_000_000_000n, '7.5'],
    ['0.000000000001', 1n, '0.000000000001'],
    ['-0.000000000001', -1n, '-0.000000000001'],
    ['-12.34', -12_340_000_000_000n, '-12.34'],
    ['99999999999999999999999999', 10n ** 38n - 10n ** 12n, '99999999999999999999999999'],
  ]
  for (const [text, pico, canonical] of cases) {
    t.equal(parseAmount(text), pico, text)
    t.equal(formatAmount(pico), canonical, text)
  }
})

t.test('an amount that is no plain decimal with at most 12 decimals is refused', async (t) => {
  const bad = ['', '.', '1.', '.5', '+1', '1e3', ' 1', '1 ', '0x1', '1,5', 'NaN', '--1', '١']
  for (const text of [...bad, '0.0000000000001', '1'.repeat(27)])
    t.throws(() => parseAmount(text), RangeError, JSON.stringify(text))
})

t.test('every amount survives writing and reading', async (t) => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 38n) + 1n, 10n ** 38n - 1n), (pico) => {
      const text = formatAmount(pico)
      return parseAmount(text) === pico && formatAmount(parseAmount(text)) === text
    }),
    { numRuns: 2_000 },
  )
  t.pass('2000 amounts')
})

t.test('a written amount has no exponent, no trailing zeros and no negative zero', async (t) => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 38n) + 1n, 10n ** 38n - 1n), (pico) =>
      /^(?:0|-?(?:[1-9]\d*|0\.\d*[1-9]|[1-9]\d*\.\d*[1-9]))$/.test(formatAmount(pico)),
    ),
    { numRuns: 2_000 },
  )
  t.pass('2000 amounts')
})

t.test('a price has at most 6 decimals and is not negative', async (t) => {
  t.equal(canonicalPrice('4.300000'), '4.3')
  t.equal(canonicalPrice('0.000001'), '0.000001')
  t.equal(canonicalPrice('0'), '0')
  for (const text of ['-1', '-0.000001', '0.0000001', '1.0000000', 'x', ''])
    t.throws(() => canonicalPrice(text), RangeError, text)
})

t.test('a line is exact, as in the worked example of the ledger notes', async (t) => {
  t.equal(formatAmount(lineAmount(4_823, '4.3', 1_000_000)), '0.0207389')
  t.equal(formatAmount(lineAmount(1, '0.000001', 1_000_000)), '0.000000000001')
  t.equal(formatAmount(lineAmount(3, '0.03', 1)), '0.09')
  t.equal(formatAmount(lineAmount(2_500, '10', 1_000)), '25')
})

t.test('a line equals quantity × price ÷ per in rational arithmetic', async (t) => {
  fc.assert(
    fc.property(quantity, price, fc.constantFrom(...pers), (count, price, per) => {
      const { n, d } = rational(price)
      const pico = lineAmount(count, price, per)
      return pico * d * BigInt(per) === BigInt(count) * n * 10n ** 12n
    }),
    { numRuns: 3_000 },
  )
  t.pass('3000 lines')
})

t.test('the lines of a split quantity add up to the line of the whole', async (t) => {
  fc.assert(
    fc.property(
      fc.nat(2 ** 31),
      fc.nat(2 ** 31),
      price,
      fc.constantFrom(...pers),
      (a, b, p, per) => {
        return lineAmount(a, p, per) + lineAmount(b, p, per) === lineAmount(a + b, p, per)
      },
    ),
    { numRuns: 1_000 },
  )
  t.pass('1000 splits')
})

t.test('quantities up to 2^53 - 1 are accepted, larger ones are refused', async (t) => {
  t.equal(formatAmount(lineAmount(Number.MAX_SAFE_INTEGER, '70', 1_000_000)), '630503947831.86937')
  t.equal(lineAmount(Number.MAX_SAFE_INTEGER, '1', 1), (2n ** 53n - 1n) * 10n ** 12n)
  const bad = [2 ** 53, 2 ** 53 + 2, -1, 0.5, Number.NaN, Infinity, -Infinity, Number.MAX_VALUE]
  for (const quantity of bad)
    t.throws(() => lineAmount(quantity, '1', 1), RangeError, String(quantity))
  t.equal(lineAmount(-0, '1', 1), 0n, 'negative zero is zero')
})

t.test('a quantity is a safe integer, as a line and as a sum', async (t) => {
  t.equal(toQuantity('0'), 0)
  t.equal(toQuantity('9007199254740991'), Number.MAX_SAFE_INTEGER)
  for (const text of ['9007199254740992', '-1', '0.5', 'x', '1e400'])
    t.throws(() => toQuantity(text), RangeError, text)
})
