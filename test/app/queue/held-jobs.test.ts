import t from 'tap'
import { dueHeldJobs, HeldJobs, holdOnFailure, postpone } from '../../../src/app/queue/held-jobs.ts'
import { type Job, LEASE_MS, leasesOf, startWork } from './support/work.ts'

const NOW = 1_000_000

async function holding(t: Parameters<typeof startWork>[0]) {
  const started = await startWork(t, { one: NOW, two: NOW })
  const leases = leasesOf(started.pool, 'holder')
  const held = new HeldJobs<Job>(({ id }) => id)
  const jobs = await leases.take({ nowMs: NOW, limit: 5 })
  return { ...started, leases, held, jobs, place: { held, leases } }
}

t.test('a held job whose lease is lost is not worked on again', async (t) => {
  const { pool, held, leases, jobs, place } = await holding(t)
  await postpone(place, jobs, NOW + 5)
  t.same(await dueHeldJobs(place, NOW, 5), [], 'not due yet')
  t.equal((await dueHeldJobs(place, NOW + 5, 5)).length, 2)
  await pool.query(`update work.jobs set lease_owner = 'another' where job_id = 'one'`)
  t.match(await dueHeldJobs(place, NOW + 5, 5), [{ id: 'two' }])
  t.same([held.has('one'), leases.has('one')], [false, false], 'it is forgotten')
  t.ok(held.has('two'), 'the other is held until it is dropped')
})

t.test('a job is held only if time is left to work on it before its lease ends', async (t) => {
  const { row, place, jobs, held } = await holding(t)
  await postpone(place, jobs.slice(0, 1), NOW + LEASE_MS - 60_000)
  await postpone(place, jobs.slice(1), NOW + LEASE_MS - 59_999)
  t.same(
    jobs.map(({ id }) => held.has(id)),
    [true, false],
  )
  t.match(await row(jobs[1]?.id ?? ''), { lease_owner: null, due_at_ms: NOW + LEASE_MS - 59_999 })
})

t.test('jobs are held and put back when working on them fails', async (t) => {
  const { row, place, jobs, held, leases } = await holding(t)
  const fail = () => Promise.reject(new Error('failed'))
  leases.forget(['one'])
  await t.rejects(
    holdOnFailure(place, jobs, fail, () => NOW + 1_000),
    /failed/,
  )
  t.same([held.has('one'), held.has('two')], [false, true], 'but for what has ended')
  t.match(await dueHeldJobs(place, NOW + 1_000, 5), [{ id: 'two' }])
  t.match(await row('two'), { lease_owner: 'holder' })
})

t.test('jobs that can be neither processed nor held are due again soon', async (t) => {
  const { row, jobs, leases } = await holding(t)
  class Full extends HeldJobs<Job> {
    override put(): boolean {
      return false
    }
  }
  const place = { held: new Full(({ id }) => id), leases }
  const fail = () => Promise.reject(new Error('failed'))
  await t.rejects(
    holdOnFailure(place, jobs, fail, () => NOW + 1_000),
    /failed/,
  )
  await leases.take({ nowMs: NOW, limit: 5 })
  t.match(await row('one'), { lease_owner: null, due_at_ms: NOW + 2_000 })
})
