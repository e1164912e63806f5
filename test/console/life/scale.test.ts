import * as fc from 'fast-check'
import t from 'tap'
import { timeScale } from '../../../src/console/life/scale.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

const LABEL_APART = 0.12
const beganMs = Date.UTC(2026, 10, 26)

/** Waits of a life: from a millisecond to seven days. */
const waits = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 50 }),
    fc.integer({ min: 0, max: 20_000 }),
    fc.integer({ min: 0, max: 7 * 86_400_000 }),
  ),
  { minLength: 0, maxLength: 30 },
)

t.test('places rise with time, folds do not overlap, labels are apart', (t) => {
  const property = fc.property(waits, (gaps) => {
    let atMs = beganMs
    const moments = [atMs, ...gaps.map((gap) => (atMs += gap))]
    const { at, folds, ticks } = timeScale(moments)
    const places = moments.map(at)
    const isIn = (place: number): boolean => place >= 0 && place <= 1 + 1e-9
    if (!places.every(isIn)) return false
    const rises = places.every((place, index) => index === 0 || place >= (places[index - 1] ?? 0))
    const isApart = folds.every(({ from, to }, index) => {
      const before = folds[index - 1]
      return to > from && isIn(to) && (before === undefined || from >= before.to - 1e-9)
    })
    const labelled = ticks.every(
      (tick, index) => index === 0 || tick.at - (ticks[index - 1]?.at ?? 0) >= LABEL_APART - 1e-9,
    )
    return rises && isApart && labelled && folds.length <= 5 && ticks.length > 0
  })
  fc.assert(property, { numRuns: propertyRuns(500) })
  t.end()
})

t.test('a long wait is folded, so that short steps stay visible', (t) => {
  const steps = [0, 20, 60, 3_600_000, 3_600_030]
  const { at, folds } = timeScale(steps.map((ms) => beganMs + ms))
  t.equal(folds.length, 1)
  t.match(folds, [{ lengthMs: 3_599_940 }])
  t.ok(at(beganMs + 20) > 0.1, 'twenty milliseconds have a width')
  const short = timeScale([beganMs, beganMs + 8_000, beganMs + 8_010])
  t.same(short.folds, [], 'eight seconds are not folded')
  t.equal(short.at(beganMs), 0)
  t.equal(short.at(beganMs + 8_010), 1)
  t.equal(short.at(beganMs - 5), 0, 'before the first')
  t.equal(short.at(beganMs + 99_999), 1, 'after the last')
  t.equal(timeScale([beganMs]).at(beganMs), 0.5, 'one moment is in the middle')
  t.end()
})
