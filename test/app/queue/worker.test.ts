import type { Pool } from 'pg'
import { Counter } from 'prom-client'
import t, { type Test } from 'tap'
import { createPresence } from '../../../src/app/queue/presence.ts'
import { startWorker } from '../../../src/app/queue/worker.ts'
import { monotonicClock, systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { eventually, until } from '../../helpers/eventually.ts'
import { leasesOf, startWork, work } from './support/work.ts'

const NOW = 1_000_000
const deps = { clock: systemClock, monotonic: monotonicClock, logger: silentLog }
const metrics = {
  policyFailures: new Counter({ name: 'f', help: 'x', labelNames: ['policy'], registers: [] }),
}

/** A pool that refuses heartbeats while it is mute. */
function muted(pool: Pool) {
  const state = { isMute: false, refused: 0 }
  const proxy = new Proxy(pool, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (query: { readonly name?: string }, ...rest: unknown[]): unknown => {
        if (!state.isMute || name !== 'query' || query?.name !== 'workers-renew')
          return Reflect.apply(member, target, [query, ...rest])
        state.refused += 1
        return Promise.reject(new Error('cut off'))
      }
    },
  })
  return { pool: proxy, state }
}

function startCounting(t: Test, pool: Pool, monotonic = monotonicClock) {
  const rounds = { leased: 0, kept: 0 }
  const count = (which: keyof typeof rounds) => () => {
    rounds[which] += 1
    return Promise.resolve('idle' as const)
  }
  const worker = startWorker(
    { ...deps, pool, monotonic, metrics },
    { owner: 'me', scale: 1 },
    [work],
    [
      {
        policies: [{ name: 'leasing', idleMs: 5, round: count('leased') }],
        housekeeping: [{ name: 'keeping', idleMs: 5, round: count('kept') }],
      },
    ],
  )
  t.teardown(() => worker.stop())
  return rounds
}

t.test('a worker leases jobs only if its heartbeat was recorded lately', async (t) => {
  const { pool } = await startWork(t)
  const { pool: shaky, state } = muted(pool)
  state.isMute = true
  let elapsedMs = 0
  const rounds = startCounting(t, shaky, { nowMs: () => elapsedMs })
  await until(() => rounds.kept > 5)
  t.equal(rounds.leased, 0, 'the others do not know of it yet')
  state.isMute = false
  await until(() => rounds.leased > 0)

  state.isMute = true
  const { refused } = state
  await until(() => state.refused > refused + 1)
  const before = rounds.leased
  await until(() => rounds.leased > before)
  t.pass('a heartbeat that fails once or twice holds up nothing')
  elapsedMs += 5_000
  const { leased, kept } = rounds
  await until(() => rounds.kept > kept + 10)
  t.ok(rounds.leased <= leased + 1, 'but for a round that had begun')
  state.isMute = false
  await until(() => rounds.leased > leased + 3)
})

t.test('silence is an unchanged heartbeat, whatever time it states', async (t) => {
  const { pool, row } = await startWork(t, { job: NOW })
  await leasesOf(pool, 'other').take({ nowMs: NOW, limit: 1 })
  let elapsedMs = 0
  const monotonic = { nowMs: () => elapsedMs }
  const clock = { nowMs: () => NOW + 1 }
  const presence = createPresence({ ...deps, pool, monotonic, clock }, 'me', [work])
  const say = (at: string) =>
    pool.query(
      `insert into ops.workers values ('other', now() + $1::interval)
       on conflict (owner) do update set seen_at = excluded.seen_at`,
      [at],
    )
  const ownerAfter = async (ms: number) => {
    elapsedMs += ms
    await presence.round()
    return (await row('job'))?.lease_owner
  }
  await say('-1 year')
  t.equal(await ownerAfter(0), 'other')
  t.equal(await ownerAfter(4_900), 'other')
  await say('-2 years')
  t.equal(await ownerAfter(4_900), 'other', 'an older time is news')
  t.equal(await ownerAfter(4_900), 'other')
  t.equal(await ownerAfter(200), null)
  t.match(await row('job'), { due_at_ms: NOW + 1 })
  await presence.leave()
})

t.test('a worker is deleted once no table has a lease of it', async (t) => {
  const { pool, row, lock } = await startWork(t, { job: NOW })
  await pool.query(`create table work.others (like work.jobs including all)`)
  await pool.query(`insert into work.others select * from work.jobs`)
  await pool.query(`update work.others set lease_owner = 'me'`)
  await leasesOf(pool, 'me').take({ nowMs: NOW, limit: 1 })
  const tables = [work, { ...work, name: 'work.others' }]
  const presence = createPresence({ ...deps, pool }, 'me', tables)
  await presence.round()
  const knows = async () => (await pool.query('select from ops.workers')).rowCount === 1
  const letGo = await lock('job')
  const left = presence.leave()
  await eventually('the table that is not locked is free', async () => {
    const { rows } = await pool.query<{ lease_owner: string | null }>('select * from work.others')
    return rows[0]?.lease_owner === null
  })
  t.ok(await knows())
  await letGo()
  await left
  t.match(await row('job'), { lease_owner: null })
  t.notOk(await knows())
})
