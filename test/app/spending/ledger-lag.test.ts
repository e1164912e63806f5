import t from 'tap'
import { createLedgerLag } from '../../../src/app/spending/ledger-lag.ts'

/** A log and a ledger at places of their own, and a clock that stands still. */
function startLag() {
  let nowMs = 0
  let end: bigint | undefined = 0n
  let reached = 0n
  let away = false
  const lag = createLedgerLag({
    logEnd: () => (away ? Promise.reject(new Error('away')) : Promise.resolve(end)),
    reachedPosition: () => Promise.resolve(reached),
    clock: { nowMs: () => nowMs },
  })
  return {
    ...lag,
    at: async (places: { ms: number; end?: bigint; reached?: bigint }) => {
      nowMs = places.ms
      end = places.end
      reached = places.reached ?? reached
      await lag.look()
      return lag.lagMs()
    },
    pass: (ms: number) => void (nowMs += ms),
    fail: (now: boolean) => void (away = now),
  }
}

t.test('a ledger that was never complete has an infinite lag', async (t) => {
  const { at, lagMs } = startLag()
  t.equal(lagMs(), Infinity)
  t.equal(await at({ ms: 1_000, end: 5n, reached: 4n }), Infinity)
  t.equal(await at({ ms: 2_000, end: 9n, reached: 5n }), 1_000, 'it has what was there then')
})

t.test('an empty log has no lag', async (t) => {
  t.equal(await startLag().at({ ms: 1_000, reached: -1n }), 0)
})

t.test('a ledger that is always a little behind lags a little', async (t) => {
  const { at } = startLag()
  await at({ ms: 0, end: 0n, reached: 0n })
  for (let n = 1n; n < 200n; n += 1n)
    t.equal(await at({ ms: Number(n) * 1_000, end: n * 10n, reached: (n - 1n) * 10n }), 1_000)
})

t.test('the lag of a stopped ledger grows, and ends when it caught up', async (t) => {
  const { at } = startLag()
  await at({ ms: 0, end: 10n, reached: 10n })
  for (let n = 1; n < 300; n += 1)
    t.equal(await at({ ms: n * 1_000, end: BigInt(10 + n), reached: 10n }), n * 1_000)
  t.equal(await at({ ms: 300_000, end: 400n, reached: 40n }), 270_000)
  t.equal(await at({ ms: 301_000, end: 400n, reached: 400n }), 0)
})

t.test('a log that cannot be read counts as lag', async (t) => {
  const { at, fail, pass, look, lagMs } = startLag()
  await at({ ms: 0, end: 10n, reached: 10n })
  fail(true)
  pass(40_000)
  await t.rejects(look())
  t.equal(lagMs(), 40_000)
  fail(false)
  await look()
  t.equal(lagMs(), 0)
})
