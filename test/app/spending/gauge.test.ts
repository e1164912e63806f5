import t from 'tap'
import { Gauge } from '../../../src/app/spending/gauge.ts'

const reading = (usd: bigint, position = 0n) => ({
  available: new Map([['USD', usd] as const]),
  position,
})

/** A gauge, and a clock that stands still until it is moved. */
function gaugeOf() {
  let nowMs = 0
  const gauge = new Gauge('tenant_1', undefined, { nowMs: () => nowMs })
  return { gauge, pass: (ms: number) => void (nowMs += ms) }
}

t.test('a reading that a later one overtook is ignored', async (t) => {
  const { gauge } = gaugeOf()
  gauge.learn(reading(50n), { sentAtMs: 0, turn: 2, era: 0 })
  gauge.learn(reading(100n), { sentAtMs: 0, turn: 1, era: 0 })
  t.equal(gauge.available('USD'), 50n)
  gauge.learn(reading(40n, 7n), { sentAtMs: 0, turn: 3, era: 0 })
  gauge.learn(reading(100n, 6n), { sentAtMs: 0, turn: 4, era: 0 })
  t.equal(gauge.available('USD'), 40n, 'the ledger was further along')
})

t.test('a report is repeated until it is acknowledged', async (t) => {
  const { gauge } = gaugeOf()
  t.same(gauge.report().reported, [], 'nothing was used')
  const hold = gauge.place('USD', 60n)
  gauge.report()
  hold.release('failed')
  t.notOk(gauge.isIdle(), 'the answer was lost: its row may say 60')
  const second = gauge.report()
  t.match(second.reported, [{ unit: 'USD', held: 0n, settled: 0n }])
  gauge.acknowledged(second)
  t.ok(gauge.isIdle())
  t.same(gauge.report().reported, [])
})

t.test('a report that may be overwritten by a lost one is written again', async (t) => {
  const { gauge } = gaugeOf()
  gauge.place('USD', 60n)
  gauge.acknowledged(gauge.report())
  t.same(gauge.report().reported, [], 'the table has it')
  const more = gauge.place('USD', 5n)
  gauge.report()
  more.release('failed')
  t.match(gauge.report().reported, [{ held: 60n }], 'the table may have 65')
})

t.test('an acknowledgement of an earlier report does not acknowledge the last', async (t) => {
  const { gauge } = gaugeOf()
  gauge.place('USD', 60n)
  const first = gauge.report()
  gauge.place('USD', 30n)
  t.equal(gauge.unreported('USD'), 90n)
  gauge.acknowledged(gauge.report())
  gauge.acknowledged(first)
  t.equal(gauge.unreported('USD'), 0n)
})

t.test('a settlement without a position counts for a minute since it was made', async (t) => {
  const { gauge, pass } = gaugeOf()
  gauge.learn(reading(100n), { sentAtMs: 0, turn: 1, era: 0 })
  pass(10_000)
  gauge.place('USD', 60n).commit({ amountPico: 50n, tokens: 0, position: undefined })
  t.match(gauge.report('the spool').reported, [{ settled: 50n, spool: 'the spool' }])
  gauge.learn(reading(100n), { sentAtMs: 70_000, turn: 2, era: 0 })
  t.equal(gauge.available('USD'), 50n)
  gauge.learn(reading(100n), { sentAtMs: 70_001, turn: 3, era: 0 })
  t.equal(gauge.available('USD'), 100n)
})

t.test('the first end of a hold counts, later ends are ignored', async (t) => {
  const { gauge } = gaugeOf()
  const hold = gauge.place('USD', 60n)
  hold.commit({ amountPico: 50n, tokens: 0, position: 3n })
  hold.commit({ amountPico: 50n, tokens: 0, position: 3n })
  hold.release('failed')
  t.equal(gauge.own('USD'), 50n)
  t.equal(gauge.own('CNY'), 0n)
})
