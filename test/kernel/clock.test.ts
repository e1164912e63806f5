import t from 'tap'
import {
  clockFault,
  createSteadyClock,
  MAX_CLOCK_AHEAD_MS,
  watchClock,
} from '../../src/kernel/clock.ts'

const START = Date.parse('2026-03-01T12:00:00Z')
const HOUR_MS = 3_600_000

/** A machine whose wall clock can be set. */
function machine() {
  let elapsedMs = 0
  let setMs = 0
  const clock = createSteadyClock(
    { nowMs: () => START + Math.floor(elapsedMs) + setMs },
    { nowMs: () => 77 + elapsedMs },
  )
  return {
    /** Lets time pass, asked for every half second, and tells what the clock says since the start. */
    pass: (ms: number): number => {
      const untilMs = elapsedMs + ms
      let last = clock.nowMs()
      while (elapsedMs < untilMs) {
        elapsedMs = Math.min(untilMs, elapsedMs + 500)
        const now = clock.nowMs()
        t.ok(now >= last, 'it never goes back')
        last = now
      }
      return last - START
    },
    offMs: clock.offMs,
    set: (byMs: number): void => {
      setMs += byMs
    },
  }
}

t.test('the clock is the wall clock while that is not set', (t) => {
  const { pass } = machine()
  t.equal(pass(0), 0)
  t.equal(pass(12_345), 12_345)
  t.equal(pass(0.4), 12_345)
  t.end()
})

t.test('a clock set an hour forward is followed at twice the speed', (t) => {
  const { pass, set } = machine()
  pass(10_000)
  set(HOUR_MS)
  t.equal(pass(0), 10_000)
  t.equal(pass(60_000), 130_000)
  t.equal(pass(HOUR_MS), 10_000 + 60_000 + HOUR_MS + HOUR_MS)
  t.end()
})

t.test('the clock says how far it is from the wall clock, in words beyond a second', (t) => {
  const { pass, set, offMs } = machine()
  pass(10_000)
  t.equal(offMs(), 0)
  set(8 * HOUR_MS)
  t.equal(offMs(), 8 * HOUR_MS)
  t.match(clockFault(offMs()), /clock is 8 h 0 min ahead of this process/)
  pass(HOUR_MS)
  t.equal(offMs(), 7 * HOUR_MS)
  set(-9 * HOUR_MS)
  t.match(clockFault(offMs()), /clock is 2 h 0 min behind this process/)
  t.equal(clockFault(1_000), undefined)
  t.end()
})

t.test('a clock set an hour back is followed at half the speed, never backwards', (t) => {
  const { pass, set } = machine()
  pass(10_000)
  set(-HOUR_MS)
  t.equal(pass(0), 10_000)
  t.equal(pass(60_000), 40_000)
  t.equal(pass(2 * HOUR_MS), 10_000 + 60_000 + 2 * HOUR_MS - HOUR_MS)
  t.end()
})

t.test('a small correction is adopted at once, but never backwards', (t) => {
  const { pass, set } = machine()
  pass(5_000)
  set(400)
  t.equal(pass(0), 5_400)
  set(-600)
  t.equal(pass(0), 5_400)
  t.equal(pass(1_000), 5_800)
  t.end()
})

t.test('a clock that is too far behind the machine is reported once', async (t) => {
  const offsMs = [-HOUR_MS, 0, MAX_CLOCK_AHEAD_MS, MAX_CLOCK_AHEAD_MS + 1, HOUR_MS]
  const looked: number[] = []
  const offMs = (): number => {
    const off = offsMs.shift() ?? HOUR_MS
    looked.push(off)
    return off
  }
  // The watch alone would not keep the test running.
  const running = setInterval(() => undefined, 1_000)
  const reason = await new Promise<string>((resolve) => watchClock({ offMs }, resolve, 1))
  clearInterval(running)
  t.match(reason, /clock is 15 min 0 s ahead of this process/)
  t.same(looked, [-HOUR_MS, 0, MAX_CLOCK_AHEAD_MS, MAX_CLOCK_AHEAD_MS + 1])
})
