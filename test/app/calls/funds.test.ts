import * as fc from 'fast-check'
import t from 'tap'
import { createFunds, type Hold, type KnownBalances } from '../../../src/app/calls/funds.ts'
import type { Currency } from '../../../src/kernel/money.ts'

/** A ledger that lags behind what is settled, with a clock that stands still until it is moved. */
function ledger(creditPico: bigint) {
  let nowMs = 1_000_000
  let reads = 0
  let failing = false
  let known: KnownBalances = { available: new Map([['USD', creditPico]]), position: 0n }
  const funds = createFunds(
    async () => {
      reads += 1
      if (failing) throw new Error('the database is away')
      return known
    },
    { nowMs: () => nowMs },
  )
  return {
    funds,
    hold: (pico: bigint, currency: Currency = 'USD') => funds.hold('t', currency, pico),
    reads: () => reads,
    fail: (now: boolean) => void (failing = now),
    pass: (ms: number) => void (nowMs += ms),
    project: (availablePico: bigint, position: bigint) =>
      void (known = { available: new Map([['USD', availablePico]]), position }),
  }
}
const broke = { code: 'insufficient_balance' }

t.test('holds in flight count against the balance until they end', async (t) => {
  const { hold } = ledger(100n)
  const first = await hold(60n)
  await t.rejects(hold(60n), broke)
  const second = await hold(40n)
  first.withdraw()
  first.withdraw()
  await hold(60n)
  await t.rejects(hold(1n), broke)
  second.withdraw()
})

t.test('a settlement counts until the ledger has it, and only once', async (t) => {
  const { hold, project, pass } = ledger(100n)
  const first = await hold(60n)
  first.settle(30n, 7n)
  first.withdraw()
  await t.rejects(hold(71n), broke)
  ;(await hold(70n)).withdraw()
  project(70n, 7n)
  pass(3_000)
  await t.rejects(hold(71n), broke)
  ;(await hold(70n)).withdraw()
})

t.test('a settlement whose place is not known counts for a minute', async (t) => {
  const { hold, pass } = ledger(100n)
  ;(await hold(50n)).settle(50n, undefined)
  pass(30_000)
  await t.rejects(hold(51n), broke)
  pass(31_000)
  ;(await hold(51n)).withdraw()
})

t.test('fresh credit is seen before somebody is refused', async (t) => {
  const { hold, project, pass } = ledger(10n)
  await t.rejects(hold(50n), { ...broke, details: { currency: 'USD', available: '0.00000000001' } })
  project(100n, 1n)
  pass(150)
  ;(await hold(50n)).withdraw()
})

t.test('nothing is started with nothing, in debt, or in another currency', async (t) => {
  await t.rejects(ledger(0n).hold(0n), broke)
  await t.rejects(ledger(-5n).hold(0n), broke)
  await t.rejects(ledger(100n).hold(1n, 'CNY'), broke)
})

t.test('the balance is read once for many calls, and again when it is old', async (t) => {
  const { hold, reads, pass } = ledger(1_000n)
  await Promise.all(Array.from({ length: 50 }, () => hold(1n)))
  t.equal(reads(), 1)
  pass(1_500)
  await hold(1n)
  await new Promise(setImmediate)
  t.equal(reads(), 2)
})

t.test(
  'with the database away the last balance serves for a while, then nothing does',
  async (t) => {
    const { hold, fail, pass } = ledger(100n)
    ;(await hold(1n)).withdraw()
    fail(true)
    pass(20_000)
    ;(await hold(1n)).withdraw()
    pass(15_000)
    await t.rejects(hold(1n), { code: 'log_unavailable' })
    const never = ledger(1n)
    never.fail(true)
    await t.rejects(never.hold(1n), { code: 'log_unavailable' })
  },
)

t.test('whatever the order, no more is held and settled than there is', async (t) => {
  const step = fc.record({
    kind: fc.constantFrom('hold', 'settle', 'withdraw', 'project'),
    pico: fc.bigInt(1n, 40n),
    which: fc.nat(20),
    ms: fc.nat(2_500),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { hold, project, pass } = ledger(100n)
      const open: { readonly end: Hold; readonly pico: bigint }[] = []
      let settledPico = 0n
      let position = 0n
      for (const { kind, pico, which, ms } of steps) {
        pass(ms)
        const heldPico = open.reduce((sum, one) => sum + one.pico, 0n)
        if (kind === 'hold') {
          const end = await hold(pico).catch(() => undefined)
          const fits = heldPico + settledPico + pico <= 100n
          if ((end !== undefined) !== fits) return false
          if (end !== undefined) open.push({ end, pico })
        } else if (kind === 'project') project(100n - settledPico, position)
        else {
          const [one] = open.splice(which % Math.max(1, open.length), 1)
          if (one === undefined) continue
          if (kind === 'withdraw') one.end.withdraw()
          else {
            position += 1n
            settledPico += one.pico
            one.end.settle(one.pico, position)
          }
        }
      }
      return true
    }),
    { numRuns: 200 },
  )
  t.pass()
})
