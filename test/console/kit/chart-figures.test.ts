import * as fc from 'fast-check'
import t from 'tap'
import {
  dayLabel,
  durationTick,
  hourLabel,
  shaped,
  tickText,
  ticksFor,
} from '../../../src/console/kit/chart-figures.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

const cell = fc.record({
  day: fc.integer({ min: 1, max: 9 }).map((day) => `2026-11-0${day}`),
  series: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'a model with a long name'),
  amount: fc.bigInt({ min: 0n, max: 10n ** 26n }).map(formatAmount),
})

t.test('the parts of a day and the days together are the exact sum', (t) => {
  const property = fc.property(fc.array(cell, { maxLength: 60 }), (cells) => {
    const { series, picoOf, totalOf } = shaped(cells)
    const days = [...new Set(cells.map(({ day }) => day))]
    const sum = cells.reduce((pico, { amount }) => pico + parseAmount(amount), 0n)
    const ofDays = days.reduce((pico, day) => pico + totalOf(day), 0n)
    const isWhole = days.every(
      (day) => series.reduce((pico, name) => pico + picoOf(day, name), 0n) === totalOf(day),
    )
    return sum === ofDays && isWhole && series.length <= 5
  })
  fc.assert(property, { numRuns: propertyRuns(300) })
  t.end()
})

t.test('the largest series comes first, and the sixth is among others', (t) => {
  const cells = ['1', '7', '3', '5', '2', '4'].map((amount) => ({
    day: '2026-11-01',
    series: `model-${amount}`,
    amount,
  }))
  t.same(shaped(cells.slice(1)).series, ['model-7', 'model-5', 'model-4', 'model-3', 'model-2'])
  const { series, picoOf } = shaped(cells)
  t.same(series, ['model-7', 'model-5', 'model-4', 'model-3', 'others'])
  t.equal(formatAmount(picoOf('2026-11-01', 'others')), '3')
  t.same(shaped([]).series, [])
  t.end()
})

t.test(
  'steps of the axis are 1, 2 or 5 times a power of ten, and reach the largest amount',
  (t) => {
    for (const largest of [0, 1e-12, 0.0037, 0.9, 1, 6, 99.99, 1_234_567, 9e15]) {
      const ticks = ticksFor(largest)
      const [first = 1, step = 0] = ticks
      t.equal(first, 0)
      t.ok((ticks.at(-1) ?? 0) >= largest * (1 - 1e-9), `${largest}`)
      t.ok(ticks.length <= 7, `${ticks.length} steps for ${largest}`)
      const digit = Number((step / 10 ** Math.floor(Math.log10(step) + 1e-9)).toFixed(6))
      t.ok([1, 2, 5, 10].includes(digit), `${step} is ${digit} times a power of ten`)
    }
    t.equal(tickText(1_500, 500), '1 500')
    t.equal(tickText(0.005, 0.005), '0.005')
    t.end()
  },
)

t.test('labels of days have room, and the first of a month names it', (t) => {
  const daysFrom = (first: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) =>
      new Date(Date.parse(first) + index * 86_400_000).toISOString().slice(0, 10),
    )
  for (const count of [1, 2, 14, 16, 17, 31, 90, 366, 400, 800]) {
    const days = daysFrom('2026-10-20', count)
    const labels = days.flatMap((_, index) => dayLabel(days, index) ?? [])
    t.ok(labels.length >= 1 && labels.length <= 16, `${labels.length} of ${count} days`)
    const kept = labels.filter(({ isMinor }) => !isMinor)
    t.ok(kept.length >= 1 && kept.length <= 8, `${kept.length} of ${count} days have room`)
    t.equal(labels[0]?.text, '20 Oct')
  }
  const month = daysFrom('2026-10-30', 4)
  t.same(
    month.map((_, index) => dayLabel(month, index)?.text),
    ['30 Oct', '31', '1 Nov', '2'],
  )
  const year = daysFrom('2026-12-31', 2)
  t.equal(dayLabel(year, 1)?.text, '1 Jan 2027')
  t.end()
})

t.test('labels of hours are whole parts of a day, and midnight has its date', (t) => {
  const labels = (hours: number): readonly string[] =>
    Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, '0')}:00`).flatMap(
      (time) => hourLabel('30 Nov', time, hours)?.text ?? [],
    )
  t.same(labels(8).length, 24)
  t.same(labels(24).slice(0, 3), ['30 Nov', '02:00', '04:00'])
  t.same(labels(72), ['30 Nov', '06:00', '12:00', '18:00'])
  t.match(hourLabel('30 Nov', '05:30', 12), { text: '05:30', isMinor: true })
  t.end()
})

t.test('an axis of durations is in milliseconds or seconds', (t) => {
  const words = (largestMs: number): readonly string[] => {
    const [zero = 0, step = 0] = ticksFor(largestMs)
    return [zero, step].map((ms) => durationTick(ms, step))
  }
  t.same(words(4), ['0 ms', '1 ms'])
  t.same(words(700), ['0 ms', '200 ms'])
  t.same(words(1_900), ['0.0 s', '0.5 s'])
  t.same(words(90_000), ['0 s', '50 s'])
  t.end()
})
