import type { Pool } from 'pg'
import t from 'tap'
import { makeStrayDue } from '../../../src/app/queue/tables.ts'
import { type Job, LEASE_MS, leaseJobs, leasesOf, startWork, work } from './support/work.ts'

/** Pauses of this lane are far shorter than its leases. */
const ahead = { a: { leaseMs: LEASE_MS, waitMs: 1_000 } }
const NOW = 1_000_000_000
const HOUR_MS = 3_600_000

t.test('jobs leased while another worker recalls are not processed twice', async (t) => {
  const jobs = Array.from({ length: 40 }, (_, n) => [`job-${n}`, NOW - n] as const)
  const { pool } = await startWork(t, Object.fromEntries(jobs))
  const worked: string[] = []
  // The clocks of these replicas are ahead of the one that recalls, by ever more.
  const workers = [0, 5_000, 30_000].map((skewMs, n) => ({
    skewMs,
    leases: leasesOf(pool, `worker-${n}`),
  }))
  for (let round = 0; round < 8; round += 1)
    await Promise.all(
      workers.map(async ({ skewMs, leases }) => {
        const leasing = leases.take({ nowMs: NOW + skewMs, limit: 3 })
        await makeStrayDue(pool, work, NOW, ahead)
        worked.push(...(await leasing).map(({ id }) => id))
        await makeStrayDue(pool, work, NOW, ahead)
      }),
    )
  t.equal(worked.length, jobs.length)
  t.equal(new Set(worked).size, jobs.length, 'each once')
})

t.test('an uncommitted lease is skipped, not waited for', async (t) => {
  const { pool, row } = await startWork(t, { stray: NOW + HOUR_MS })
  const client = await pool.connect()
  await client.query('begin')
  await client.query(
    `update work.jobs set due_at_ms = $1, lease_owner = 'other', attempts = 1 where job_id = 'stray'`,
    [NOW + LEASE_MS],
  )
  await makeStrayDue(pool, work, NOW, ahead)
  await client.query('commit')
  client.release()
  t.match(await row('stray'), { lease_owner: 'other', due_at_ms: NOW + LEASE_MS })
})

t.test('a job left far ahead by a clock set back is due now, leased or not', async (t) => {
  const { pool, row, add } = await startWork(t, { free: NOW + HOUR_MS, leased: NOW + HOUR_MS })
  await add('lane-without-bound', NOW + HOUR_MS, 'b')
  await add('soon', NOW + LEASE_MS, 'a')
  await pool.query(`update work.jobs set lease_owner = 'x' where job_id = 'leased'`)
  await makeStrayDue(pool, work, NOW, ahead)
  t.match(await row('free'), { due_at_ms: NOW, lease_owner: null })
  t.match(await row('leased'), { due_at_ms: NOW, lease_owner: null })
  t.match(await row('lane-without-bound'), { due_at_ms: NOW + HOUR_MS })
  t.match(await row('soon'), { due_at_ms: NOW + LEASE_MS })
})

/** A lease statement whose answer comes only once it is let through. */
function delayed(answers: readonly Promise<'lost' | 'through'>[]) {
  let asked = 0
  return async (db: Pool, lease: Parameters<typeof leaseJobs>[1]): Promise<readonly Job[]> => {
    const answer = answers[asked]
    asked += 1
    const leased = await leaseJobs(db, lease)
    if ((await answer) === 'lost') throw new Error('the answer is lost')
    return leased
  }
}

t.test('a recall of lost leases leaves the leases of other workers', async (t) => {
  const { pool, add, row } = await startWork(t, { lost: NOW })
  let letThrough: (outcome: 'through') => void = () => undefined
  const waiting = new Promise<'through'>((resolve) => (letThrough = resolve))
  const leases = leasesOf(pool, 'one', delayed([Promise.resolve('lost'), waiting]))
  await t.rejects(leases.take({ nowMs: NOW, limit: 5 }), /the answer is lost/)
  t.match(await row('lost'), { lease_owner: 'one' }, 'it is leased and not known')
  await add('next', NOW)
  const [first, second] = [1, 2].map(() => leases.take({ nowMs: NOW, limit: 5 }))
  letThrough('through')
  t.same(
    (await first)?.map(({ id }) => id),
    ['next'],
  )
  t.same(await second, [])
  t.match(await row('next'), { lease_owner: 'one', due_at_ms: NOW + LEASE_MS, attempts: 1 })
  t.match(await row('lost'), { lease_owner: null, due_at_ms: NOW + 2_000 }, 'soon, and not at once')
  const again = await leases.take({ nowMs: NOW + 2_000, limit: 5 })
  t.same(
    again.map(({ id }) => id),
    ['lost'],
  )
})

t.test('while a lease request is unanswered, the process recalls no lease', async (t) => {
  const { pool, add, row } = await startWork(t, { lost: NOW })
  let lose: (outcome: 'lost') => void = () => undefined
  let letThrough: (outcome: 'through') => void = () => undefined
  const losing = new Promise<'lost'>((resolve) => (lose = resolve))
  const waiting = new Promise<'through'>((resolve) => (letThrough = resolve))
  const leases = leasesOf(pool, 'one', delayed([losing, waiting]))
  const broken = leases.take({ nowMs: NOW, limit: 1 })
  await add('next', NOW)
  const [slow, last] = [1, 2].map(() => leases.take({ nowMs: NOW, limit: 1 }))
  lose('lost')
  await t.rejects(broken, /the answer is lost/)
  letThrough('through')
  const worked = [...((await slow) ?? []), ...((await last) ?? [])].map(({ id }) => id)
  t.same(worked, ['next'])
  t.match(await row('next'), { lease_owner: 'one', attempts: 1 })
})
