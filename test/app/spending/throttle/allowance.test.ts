import * as fc from 'fast-check'
import t from 'tap'
import { Allowance } from '../../../../src/app/spending/throttle/allowance.ts'

const MINUTE_MS = 60_000
const START_MS = 1_767_323_045_000

/** Takes what is there; says whether it was. */
function tryTake(allowance: Allowance, amount: number, perMinute: number, nowMs: number): boolean {
  if (allowance.waitMs(amount, perMinute, nowMs) > 0) return false
  allowance.take(amount, perMinute, nowMs)
  return true
}

t.test('an unused limit may be used at once, and not exceeded', async (t) => {
  for (const perMinute of [1, 3, 7, 60, 1_000]) {
    const allowance = new Allowance(START_MS)
    for (let taken = 0; taken < perMinute; taken += 1) {
      t.equal(allowance.remaining(perMinute, START_MS), perMinute - taken)
      t.ok(tryTake(allowance, 1, perMinute, START_MS))
    }
    t.equal(allowance.remaining(perMinute, START_MS), 0)
    t.notOk(tryTake(allowance, 1, perMinute, START_MS))
    t.equal(allowance.resetMs(perMinute, START_MS), MINUTE_MS)
  }
})

t.test('a used allowance refills evenly', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(60, 60, START_MS)
  t.equal(allowance.waitMs(1, 60, START_MS), 1_000)
  t.equal(allowance.waitMs(1, 60, START_MS + 400), 600)
  t.equal(allowance.remaining(60, START_MS + 999), 0)
  t.equal(allowance.remaining(60, START_MS + 1_000), 1)
  t.equal(allowance.resetMs(60, START_MS + 20_000), 40_000)
  t.equal(allowance.remaining(60, START_MS + MINUTE_MS), 60)
  t.ok(allowance.isWhole(60, START_MS + MINUTE_MS))
})

const steps = fc.array(
  fc.record({
    pauseMs: fc.integer({ min: 0, max: 20_000 }),
    amount: fc.integer({ min: 1, max: 50 }),
  }),
  { maxLength: 200 },
)
const limit = fc.integer({ min: 1, max: 500 })

t.test('in any interval no more is used than the limit and its refill', async (t) => {
  fc.assert(
    fc.property(steps, limit, (given, perMinute) => {
      const allowance = new Allowance(START_MS)
      const takes: { atMs: number; amount: number }[] = []
      let nowMs = START_MS
      for (const { pauseMs, amount } of given) {
        nowMs += pauseMs
        if (tryTake(allowance, Math.min(amount, perMinute), perMinute, nowMs))
          takes.push({ atMs: nowMs, amount: Math.min(amount, perMinute) })
      }
      for (const [from, first] of takes.entries()) {
        let sum = 0
        for (const { atMs, amount } of takes.slice(from)) {
          sum += amount
          const allowed = perMinute * (1 + (atMs - first.atMs) / MINUTE_MS)
          if (sum > allowed + 0.01) return false
        }
      }
      return true
    }),
  )
  t.pass()
})

t.test(
  'after the stated wait an amount is available, and a millisecond before it is not',
  async (t) => {
    fc.assert(
      fc.property(steps, limit, (given, perMinute) => {
        const allowance = new Allowance(START_MS)
        let nowMs = START_MS
        for (const { pauseMs, amount: wanted } of given) {
          nowMs += pauseMs
          const amount = Math.min(wanted, perMinute)
          const waitMs = allowance.waitMs(amount, perMinute, nowMs)
          if (waitMs > MINUTE_MS + 1) return false
          // A thousandth is tolerated: what that is in time differs with the limit.
          const toleratedMs = Math.ceil((0.001 * MINUTE_MS) / perMinute) + 1
          if (waitMs > toleratedMs) {
            const early = nowMs + waitMs - toleratedMs - 1
            if (early > nowMs && allowance.waitMs(amount, perMinute, early) === 0) return false
            nowMs = Math.max(nowMs, early)
          }
          nowMs += waitMs > 0 ? toleratedMs + 1 : 0
          if (!tryTake(allowance, amount, perMinute, nowMs)) return false
        }
        return true
      }),
    )
    t.pass()
  },
)

t.test('a returned amount can be used again, and never exceeds the limit', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(80, 100, START_MS)
  allowance.take(-50, 100, START_MS)
  t.equal(allowance.remaining(100, START_MS), 70)
  allowance.take(-500, 100, START_MS)
  t.equal(allowance.remaining(100, START_MS), 100)
})

t.test('use beyond the limit is paid back within one further minute', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(150, 100, START_MS)
  t.equal(allowance.remaining(100, START_MS), 0)
  t.equal(allowance.waitMs(1, 100, START_MS), 30_600)
  allowance.take(1_000_000, 100, START_MS)
  t.equal(allowance.resetMs(100, START_MS), 2 * MINUTE_MS)
})

t.test('a changed limit applies at once to earlier use', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(10, 10, START_MS)
  t.equal(allowance.remaining(100, START_MS), 90)
  t.equal(allowance.remaining(5, START_MS), 0)
  t.equal(allowance.waitMs(1, 5, START_MS), 72_000)
  t.equal(allowance.remaining(5, START_MS + 2 * MINUTE_MS), 5)
})

t.test('a clock that steps back neither uses nor refills the allowance', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(10, 60, START_MS)
  t.equal(allowance.remaining(60, START_MS - 3_600_000), 50)
  t.equal(allowance.remaining(60, START_MS - 3_600_000 + 1_000), 51)
})

t.test('reported use is not reported again; a failed report is repeated', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(5, 60, START_MS)
  const told = allowance.report(60, START_MS)
  t.equal(told, 5)
  t.equal(allowance.report(60, START_MS), 0)
  allowance.take(2, 60, START_MS)
  allowance.reportFailed(told)
  t.equal(allowance.report(60, START_MS), 7)
  allowance.take(-3, 60, START_MS)
  t.equal(allowance.report(60, START_MS), -3)
  allowance.take(4, 60, START_MS)
  t.equal(allowance.report(60, START_MS + MINUTE_MS), 0, 'what has flowed back meanwhile is not')
})

t.test('the use of other replicas counts, and so does use since the report', async (t) => {
  const allowance = new Allowance(START_MS)
  allowance.take(5, 60, START_MS)
  allowance.report(60, START_MS)
  allowance.take(1, 60, START_MS)
  allowance.learn(25, START_MS)
  t.equal(allowance.remaining(60, START_MS), 34)
  t.equal(allowance.report(60, START_MS), 1)
})
