import t from 'tap'
import { movesOf } from '../../../projections/ledger/read/moves.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'

const HOUR_MS = 3_600_000

t.test('ten years of moved hours are found in many parts', (t) => {
  const days = { fromMs: Date.UTC(2015, 0), toMs: Date.UTC(2025, 0) }
  const periods = TimeZone.named('America/New_York').daysBetween(days.fromMs, days.toMs)
  const work = movesOf(days, periods)
  let parts = 0
  let step = work.next()
  for (; step.done !== true; step = work.next()) parts += 1
  t.ok(parts >= 3_650, `${parts} parts`)
  const { hours, quarters } = step.value
  t.equal(quarters.length, 0)
  // The first hours of each UTC day belong to the day before.
  t.equal(hours.length, periods.length - 1)
  for (const { fromMs, toMs, into, outOf } of hours) {
    if (outOf !== into + 1) t.fail(`${into} ${outOf}`)
    if (periods[into - 1]?.toMs !== toMs || toMs - fromMs > 5 * HOUR_MS) t.fail(String(fromMs))
  }
  t.end()
})
