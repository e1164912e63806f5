import t from 'tap'
import { PeriodSums } from '../../../src/app/audit/period-figures.ts'
import { MAX_SUMS, type PeriodClosed, type SumBySku } from '../../../src/domain/statement/events.ts'
import { decodeFixture, eventFixtures } from '../../helpers/event-fixtures.ts'

/** Usage by SKU, where a statement has no row for each. */

const at = '2026-11-02T00:00:00.000000Z'
const fixture = eventFixtures.find(({ type }) => type === 'PeriodClosed')
const whole = fixture && (decodeFixture(fixture).data as PeriodClosed)

/** A line of each SKU, and of the first one a second line. */
function sumsOf(skus: number, unit = 'token'): PeriodSums {
  const sums = new PeriodSums('2026-11-01T00:00:00+08:00')
  const add = (sku: string, of: string): void =>
    sums.add({
      at,
      moves: 'settled',
      leaf: '',
      row: { sku, unit: of, quantity: '5', amount: '0.5' },
    })
  for (let n = 0; n < skus; n += 1) add(`sku-${n}`, 'token')
  add('sku-0', unit)
  return sums
}

const row = (sku: string): SumBySku => ({
  sku,
  unit: 'token',
  quantity: 5,
  amount: '0.5',
  lines: 1,
})
const fieldsOf = (sums: PeriodSums, rows: readonly SumBySku[]): readonly string[] =>
  sums
    .differences({ ...(whole as PeriodClosed), sums: [...rows] }, 0n)
    .flatMap(({ field }) => (field.startsWith('sum of') ? [field] : []))

const first = { ...row('sku-0'), quantity: 10, amount: '1', lines: 2 }

t.test('each SKU has its row as long as there is one for each', (t) => {
  const rows = [first, row('sku-1'), row('sku-2')]
  t.same(fieldsOf(sumsOf(3), rows), [])
  t.same(fieldsOf(sumsOf(3), rows.slice(0, 2)), ['sum of sku-2'])
  t.same(fieldsOf(sumsOf(3), [...rows, row('other')]), ['sum of other'])
  t.same(fieldsOf(sumsOf(3), [row('sku-0'), ...rows.slice(1)]), ['sum of sku-0'])
  t.end()
})

t.test('lines of several units have neither a unit nor a quantity together', (t) => {
  const mixed = { ...first, unit: null, quantity: null }
  t.same(fieldsOf(sumsOf(1, 'image'), [mixed]), [])
  t.same(fieldsOf(sumsOf(1, 'image'), [first]), ['sum of sku-0'])
  t.same(fieldsOf(sumsOf(1), [mixed]), ['sum of sku-0'])
  t.end()
})

t.test('more SKUs than rows are one row at the end', (t) => {
  const sums = sumsOf(MAX_SUMS + 2)
  const named = Array.from({ length: MAX_SUMS - 1 }, (_, n) => (n === 0 ? first : row(`sku-${n}`)))
  const other = { sku: 'other', unit: null, quantity: null, amount: '1.5', lines: 3 }
  t.same(fieldsOf(sums, [...named, other]), [])
  t.same(fieldsOf(sums, named), ['sum of all other SKUs'])
  t.same(fieldsOf(sums, [...named, { ...other, amount: '1' }]), ['sum of all other SKUs'])
  t.same(fieldsOf(sums, [...named, { ...other, lines: 4 }]), ['sum of all other SKUs'])
  t.end()
})
