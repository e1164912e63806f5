import * as fc from 'fast-check'
import { Pool } from 'pg'
import t from 'tap'
import { migrateOps } from '../../../../src/app/migrations.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { createReplicaGauges } from '../../../../src/app/spending/replica-gauges.ts'
import { purgeCalls } from '../../../../src/app/spending/replica-reports.ts'
import {
  type CallsUnderWay,
  createCallsUnderWay,
} from '../../../../src/app/spending/throttle/concurrent-calls.ts'
import { type Holder, noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import type { Reservation } from '../../../../src/app/spending/reservation.ts'
import { type Clock, systemClock } from '../../../../src/kernel/clock.ts'
import { acquireDatabase } from '../../../helpers/postgres.ts'

const of = (concurrentCalls: number, id = 'token_1', whose: Holder['whose'] = 'token'): Holder => ({
  whose,
  id,
  limits: { ...noLimits, concurrentCalls },
})

/** A process of its own. */
function replica(db: Queryable, name = 'one', clock: Clock = systemClock) {
  const gauges = createReplicaGauges({ db, replica: name, clock })
  return { calls: createCallsUnderWay(gauges), exchange: gauges.exchange }
}

/** A database that answers every query as a test says. */
const answering = (answer: (values: readonly unknown[]) => Promise<unknown>): Queryable => ({
  query: (config: unknown) =>
    answer((config as { readonly values: readonly unknown[] }).values) as never,
})
const away = answering(() => Promise.reject(new Error('the database is away')))

/** Those that got a place, of so many who asked. */
function enter(calls: CallsUnderWay, who: Holder, tries: number): readonly Reservation[] {
  return Array.from({ length: tries }).flatMap(() => {
    try {
      return calls.enter([who]) ?? []
    } catch {
      return []
    }
  })
}

t.test('places are reserved of all holders or of none, and released once', async (t) => {
  const { calls } = replica(away)
  const [token, tenant] = [of(3), of(2, 'tenant_1', 'tenant')]
  t.equal(calls.enter([{ ...token, limits: noLimits }]), undefined, 'nobody limits')
  const first = calls.enter([token, tenant])
  calls.enter([token, tenant])
  t.throws(() => calls.enter([token, tenant]), {
    code: 'rate_limited',
    message: 'The tenant is at its limit of calls at a time (2)',
    details: { whose: 'tenant', limitedBy: 'concurrent_calls', limit: 2, retryAfterMs: 1_000 },
  })
  t.equal(calls.of('token_1'), 2, 'what is refused takes no place')
  first?.release('failed')
  first?.release('failed')
  t.equal(calls.of('token_1'), 1)
  t.equal(calls.of('tenant_1'), 1)
  t.ok(calls.enter([token, tenant]))
  t.throws(() => calls.enter([{ ...token, limits: { ...noLimits, concurrentCalls: 1 } }]), {
    code: 'rate_limited',
  })
})

t.test('a settled call releases its place, whatever it cost', async (t) => {
  const { calls } = replica(away)
  const place = calls.enter([of(1)])
  place?.commit({ amountPico: 5n, tokens: 7, position: 1n })
  t.equal(calls.of('token_1'), 0)
  t.ok(calls.enter([of(1)]))
})

t.test('in any order of calls no place is lost and none is added', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 200 }),
      fc.integer({ min: 1, max: 5 }),
      (steps, limit) => {
        const { calls } = replica(away)
        const open: Reservation[] = []
        for (const [comes, index] of steps) {
          if (comes) open.push(...enter(calls, of(limit), 1))
          else open.splice(index, 1)[0]?.release('failed')
          if (calls.of('token_1') !== open.length || open.length > limit) return false
        }
        return true
      },
    ),
  )
  t.pass('over all that was tried')
})

t.test('reported calls of other replicas count for ten seconds', async (t) => {
  let nowMs = 0
  let isAway = false
  const written: unknown[] = []
  const db = answering((values) => {
    if (isAway) return Promise.reject(new Error('the database is away'))
    // A report has the numbers last, a reading an age.
    if (Array.isArray(values.at(-1))) written.push(values.slice(1))
    return Promise.resolve({ rows: [{ holder: 'token_1', calls: '3' }] })
  })
  const { calls, exchange } = replica(db, 'one', { nowMs: () => nowMs })
  const leave = calls.enter([of(4)])
  await exchange()
  t.same(written, [[['token_1'], [1]]])
  t.throws(() => calls.enter([of(4)]), { code: 'rate_limited' })
  isAway = true
  await t.rejects(exchange())
  nowMs += 9_999
  t.throws(() => calls.enter([of(4)]), { code: 'rate_limited' })
  nowMs += 1
  t.ok(calls.enter([of(4)]), 'with the database away each counts its own')
  leave?.release('failed')
  await t.rejects(exchange())
  isAway = false
  await exchange()
  t.same(written.slice(1), [[['token_1'], [1]]], 'what could not be reported is reported later')
})

t.test('a number whose report failed is reported until it is acknowledged', async (t) => {
  const written: unknown[] = []
  let isLost = true
  const db = answering((values) => {
    if (!Array.isArray(values.at(-1))) return Promise.resolve({ rows: [] })
    written.push(values.at(-1))
    // Postgres has it, and the answer did not arrive.
    return isLost ? Promise.reject(new Error('the answer was lost')) : Promise.resolve({ rows: [] })
  })
  const { calls, exchange } = replica(db)
  const place = calls.enter([of(4)])
  await t.rejects(exchange())
  place?.release('failed')
  await t.rejects(exchange())
  isLost = false
  await exchange()
  await exchange()
  t.same(written, [[1], [0], [0]], 'and then no more')
})

t.test('concurrent calls shared through Postgres', async (t) => {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4 })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  await migrateOps(pool)
  const replicas = ['one', 'two', 'three'].map((name) => replica(pool, name))
  const exchange = async () => {
    for (const one of replicas) await one.exchange()
  }
  const [one, two, three] = replicas.map(({ calls }) => calls) as [
    CallsUnderWay,
    CallsUnderWay,
    CallsUnderWay,
  ]

  await t.test('replicas together admit at most the limit each, then no call', async (t) => {
    const who = of(10, 'shared')
    const open = [one, two, three].map((calls) => enter(calls, who, 50))
    t.same(
      open.map(({ length }) => length),
      [10, 10, 10],
    )
    await exchange()
    await exchange()
    t.equal(one.of('shared'), 30)
    for (const leave of open.flat().slice(0, 20)) leave.release('failed')
    await exchange()
    await exchange()
    for (const calls of [one, two, three]) t.equal(enter(calls, who, 5).length, 0, 'ten are left')
    for (const leave of open.flat()) leave.release('failed')
    await exchange()
    await exchange()
    t.equal(enter(two, who, 50).length, 10)
  })

  await t.test('calls of a dead replica end after ten seconds', async (t) => {
    const who = of(4, 'dead')
    enter(three, who, 4)
    await exchange()
    enter(one, who, 1)
    await replicas[0]!.exchange()
    t.equal(enter(one, who, 1).length, 0)
    const age = (seconds: number) =>
      pool.query(
        `update ops.calls_under_way set told_at = clock_timestamp() - $1 * interval '1 second'
         where replica = 'three'`,
        [seconds],
      )
    await age(9)
    enter(one, who, 1)
    await replicas[0]!.exchange()
    t.equal(enter(one, who, 1).length, 0)
    await age(11)
    await replicas[0]!.exchange()
    t.equal(enter(one, who, 9).length, 3)
    await purgeCalls(pool)
    const { rows } = await pool.query(
      `select replica from ops.calls_under_way where holder = 'dead'`,
    )
    t.same(rows, [{ replica: 'one' }])
  })

  await t.test('all replicas may report many holders at once and in any order', async (t) => {
    const holders = Array.from({ length: 300 }, (_, n) => of(100, `many_${n}`))
    for (const [n, { calls }] of replicas.entries())
      for (const who of n % 2 === 0 ? holders : holders.toReversed()) calls.enter([who])
    await Promise.all(replicas.map((one) => one.exchange()))
    await exchange()
    t.ok(holders.every(({ id }) => one.of(id) === 3))
  })
})
