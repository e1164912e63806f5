import { Registry } from 'prom-client'
import t from 'tap'
import { createBudgets } from '../../../src/app/spending/budgets/budgets.ts'
import { createReplicaGauges } from '../../../src/app/spending/replica-gauges.ts'
import { createCallsUnderWay } from '../../../src/app/spending/throttle/concurrent-calls.ts'
import { type Holder, noLimits } from '../../../src/app/spending/throttle/limits.ts'
import { periodAt } from '../../../src/app/spending/budgets/spent.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { startBook } from '../calls/support/book.ts'
import { replicaBefore } from './support/release-before.ts'

const book = await startBook(t)
const { pool, project } = book
const before = replicaBefore(pool, 'the release before')
const broke = { code: 'insufficient_balance' }
const PICO = 10n ** 12n

t.test('a new replica counts the holds and settlements of the previous release', async (t) => {
  await project({ tenantId: 'counted', creditPico: 100n * PICO })
  await before.tellSpending({ name: 'counted', held: '20', settled: '40', position: 8n })
  const { funds, pass } = book.replica()
  const hold = (amount: bigint) => funds.reserve('counted', 'USD', amount * PICO)
  await t.rejects(hold(41n), { ...broke, details: { available: '40' } })
  ;(await hold(40n)).release('failed')
  await project({ tenantId: 'counted', creditPico: 60n * PICO, position: 8n })
  pass(3_000)
  await t.rejects(hold(41n), broke, 'what the ledger has is counted once')
  await before.tellSpending({ name: 'counted', held: '0', settled: '0', position: 8n })
  pass(3_000)
  ;(await hold(60n)).release('failed')
})

t.test('the previous release counts the holds and settlements of a new replica', async (t) => {
  await project({ tenantId: 'counts', creditPico: 100n * PICO })
  const { funds, exchange } = book.replica()
  const hold = await funds.reserve('counts', 'USD', 60n * PICO)
  t.equal(await before.spokenFor('counts', 0n), '60.000000000000', 'decided under the lock')
  hold.commit({ amountPico: 50n * PICO, tokens: 0, position: 9n })
  await exchange()
  t.equal(await before.spokenFor('counts', 0n), '50.000000000000')
  t.equal(await before.spokenFor('counts', 9n), '0.000000000000', 'the ledger has it')
})

t.test('old and new replicas count each other’s holds of a budget', async (t) => {
  const nowMs = Date.parse('2026-03-04T18:00:00.000Z')
  const clock = { nowMs: () => nowMs }
  const gauges = createReplicaGauges({ db: pool, replica: 'the new one', clock })
  const budget = {
    subject: { kind: 'tenant' },
    currency: 'USD',
    period: 'day',
    hard: '100',
  } as const
  const account = { revision: 1, timeZone: 'UTC', budgets: [budget] }
  const budgets = createBudgets({
    db: pool,
    facts: { of: () => Promise.resolve({ budgets: account } as never) },
    gauges,
    clock,
    logger: silentLog,
    registry: new Registry(),
  })
  const { fromMs, toMs } = periodAt('day', 'UTC', nowMs)
  const name = `bounded\ntenant\n${fromMs}-${toMs}`
  await before.tellSpending({ name, held: '30', settled: '0', position: 0n })
  const who = { tenantId: 'bounded', userId: 'user_1', tokenId: 'token_1' }
  const reserve = (amount: bigint) => budgets.reserve(who, 'USD', amount * PICO)
  await t.rejects(reserve(71n), { code: 'budget_reached', details: { available: '70' } })
  await reserve(70n)
  await gauges.exchange()
  t.match(await before.toldOfBudgets(name), [{ held: formatAmount(70n * PICO) }])
})

t.test('old and new replicas count each other’s calls in flight', async (t) => {
  const gauges = createReplicaGauges({ db: pool, replica: 'new', clock: { nowMs: () => 0 } })
  const calls = createCallsUnderWay(gauges)
  const who: Holder = { whose: 'token', id: 'both', limits: { ...noLimits, concurrentCalls: 5 } }
  const place = calls.enter([who])
  t.equal(await before.shareCalls('both', 3), 0)
  await gauges.exchange()
  t.equal(calls.of('both'), 4)
  t.equal(await before.shareCalls('both', 4), 1)
  await gauges.exchange()
  t.throws(() => calls.enter([who]), { code: 'rate_limited' })
  place?.release('failed')
  await gauges.exchange()
  t.equal(await before.shareCalls('both', 4), 0)
})
