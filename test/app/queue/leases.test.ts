import t from 'tap'
import { createRound, type LeasedJob, type LeaseQuery } from '../../../src/app/queue/leases.ts'
import {
  endJobs,
  freeLeases,
  type Rescheduled,
  stillLeased,
} from '../../../src/app/queue/tables.ts'
import { type Job, LEASE_MS, leasesOf, startWork, work } from './support/work.ts'

const NOW = 1_000_000

t.test('a lease ends by itself, and only its owner reschedules the job', async (t) => {
  const { pool, row } = await startWork(t, { job: NOW })
  const [one, two] = [leasesOf(pool, 'one'), leasesOf(pool, 'two')]
  t.equal((await one.take({ nowMs: NOW - 1, limit: 5 })).length, 0, 'not before its time')
  t.equal((await one.take({ nowMs: NOW, limit: 5 })).length, 1)
  t.equal((await two.take({ nowMs: NOW + LEASE_MS - 1, limit: 5 })).length, 0)
  t.match(await two.take({ nowMs: NOW + LEASE_MS, limit: 5 }), [{ id: 'job', attempts: 2 }])
  await one.reschedule([{ id: 'job', dueAtMs: 1 }])
  t.match(await row('job'), { lease_owner: 'two', due_at_ms: NOW + 2 * LEASE_MS })
  await one.end(['job'])
  t.ok(await row('job'), 'nor does it end it')
  await two.reschedule([{ id: 'job', dueAtMs: NOW + 7, attempts: 0 }])
  t.match(await row('job'), { lease_owner: null, due_at_ms: NOW + 7, attempts: 0 })
  await two.reschedule([{ id: 'job', dueAtMs: 1 }])
  t.match(await row('job'), { due_at_ms: NOW + 7 }, 'nor one that has given it back')
})

t.test('of two workers that lease at once, each job goes to one', async (t) => {
  const jobs = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`job-${n}`, NOW]))
  const { pool } = await startWork(t, jobs)
  const takes = Array.from({ length: 6 }, (_, n) =>
    leasesOf(pool, `worker-${n}`).take({ nowMs: NOW, limit: 10 }),
  )
  const ids = (await Promise.all(takes)).flat().map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length)
})

t.test('locked rows are skipped by every statement, without waiting', async (t) => {
  const { pool, row, lock } = await startWork(t, { locked: NOW, other: NOW })
  const leases = leasesOf(pool, 'one')
  const letGo = await lock('locked')
  t.match(await leases.take({ nowMs: NOW, limit: 5 }), [{ id: 'other' }])
  await letGo()
  t.match(await leases.take({ nowMs: NOW, limit: 5 }), [{ id: 'locked' }])

  const letGoAgain = await lock('locked')
  const dueAtMs = NOW + 5
  await leases.reschedule(['locked', 'other'].map((id) => ({ id, dueAtMs })))
  t.match(await row('other'), { lease_owner: null, due_at_ms: dueAtMs })
  t.match(await row('locked'), { lease_owner: 'one', due_at_ms: NOW + LEASE_MS })
  t.same(await endJobs(pool, work, { owner: 'one', lane: 'a' }, ['locked']), ['locked'])
  t.same(await freeLeases(pool, work, ['one'], NOW), { released: 0, heldBy: ['one'] })
  await letGoAgain()
  t.same(await freeLeases(pool, work, ['one'], NOW), { released: 1, heldBy: [] })
  t.match(await row('locked'), { lease_owner: null, due_at_ms: NOW })
})

t.test('a change that a locked row prevented is written before the next lease', async (t) => {
  const { pool, row, lock } = await startWork(t, { again: NOW, over: NOW, left: NOW })
  const leases = leasesOf(pool, 'one')
  await leases.take({ nowMs: NOW, limit: 5 })
  const letGo = await Promise.all(['again', 'over', 'left'].map(lock))
  await leases.reschedule([
    { id: 'again', dueAtMs: NOW + 5, attempts: 0, notes: { last_at_ms: 3 } },
  ])
  await leases.end(['over'])
  leases.abandon(['left'])
  t.same(await leases.take({ nowMs: NOW, limit: 5 }), [], 'nothing waits for the locks')
  t.match(await row('again'), { lease_owner: 'one' })
  for (const go of letGo) await go()
  t.same(await leases.take({ nowMs: NOW, limit: 5 }), [])
  t.match(await row('again'), {
    lease_owner: null,
    due_at_ms: NOW + 5,
    attempts: 0,
    last_at_ms: 3,
  })
  t.equal(await row('over'), undefined)
  t.match(await row('left'), { lease_owner: null, due_at_ms: NOW + 2_000 })
  t.match(await leases.take({ nowMs: NOW + 5, limit: 5 }), [{ id: 'again', attempts: 1 }])
})

t.test('a change prevented by a locked row is dropped once another worker leases it', async (t) => {
  const { pool, row, lock } = await startWork(t, { job: NOW })
  const [one, two] = [leasesOf(pool, 'one'), leasesOf(pool, 'two')]
  await one.take({ nowMs: NOW, limit: 5 })
  const letGo = await lock('job')
  await one.reschedule([{ id: 'job', dueAtMs: NOW + 5 }])
  await letGo()
  const laterMs = NOW + LEASE_MS
  t.equal((await two.take({ nowMs: laterMs, limit: 5 })).length, 1)
  await one.take({ nowMs: NOW, limit: 5 })
  t.match(await row('job'), { lease_owner: 'two', due_at_ms: laterMs + LEASE_MS })
})

t.test('a note keeps its first time or its last time, as declared', async (t) => {
  const { pool, row } = await startWork(t, { job: NOW })
  const leases = leasesOf(pool, 'one')
  const note = async (notes: Rescheduled<'first_at_ms' | 'last_at_ms'>['notes']) => {
    await leases.take({ nowMs: NOW, limit: 1 })
    await leases.reschedule([{ id: 'job', dueAtMs: NOW, ...(notes && { notes }) }])
    return row('job')
  }
  t.match(await note({ first_at_ms: 1, last_at_ms: 2 }), { first_at_ms: 1, last_at_ms: 2 })
  t.match(await note({ first_at_ms: 3, last_at_ms: 4 }), { first_at_ms: 1, last_at_ms: 4 })
  t.match(await note(undefined), { first_at_ms: 1, last_at_ms: 4, attempts: 3 })
})

t.test('only jobs of the worker’s own lane and lease are confirmed', async (t) => {
  const { pool, add } = await startWork(t, { mine: NOW, taken: NOW, ended: NOW, moved: NOW })
  await add('elsewhere', NOW, 'b')
  const leases = leasesOf(pool, 'one')
  const due = await leases.take({ nowMs: NOW, limit: 5 })
  t.equal(due.length, 4)
  await pool.query(`update work.jobs set lease_owner = 'two' where job_id = 'taken'`)
  await pool.query(`update work.jobs set lane = 'b' where job_id = 'moved'`)
  await pool.query(`delete from work.jobs where job_id = 'ended'`)
  t.match(await leases.confirm(due), [{ id: 'mine' }])
  t.same([...leases.ids()], ['mine'], 'the others are forgotten')
  t.same([...(await stillLeased(pool, work, { owner: 'one', lane: 'a' }, ['elsewhere']))], [])
})

t.test('abandoned jobs are due again before the next job is leased', async (t) => {
  const { pool, row } = await startWork(t, { kept: NOW, left: NOW })
  const leases = leasesOf(pool, 'one')
  await leases.take({ nowMs: NOW, limit: 5 })
  leases.abandon(['left', 'unknown'])
  t.same(await leases.take({ nowMs: NOW, limit: 5 }), [])
  t.match(await row('left'), { lease_owner: null, due_at_ms: NOW + 2_000 })
  t.match(await row('kept'), { lease_owner: 'one', due_at_ms: NOW + LEASE_MS })
})

const roundOf = (
  leases: ReturnType<typeof leasesOf>,
  work: LeasedJob<Job, LeaseQuery, never>['work'],
) =>
  createRound({
    leases,
    query: () => ({ nowMs: NOW, limit: 3 }),
    work,
    putOff: ({ id }) => ({ id, dueAtMs: NOW + 9 }),
  })
const { signal } = new AbortController()

t.test('a round reschedules each job or ends it', async (t) => {
  const { pool, row } = await startWork(t, { again: NOW, over: NOW, left: NOW, later: NOW + 1 })
  const leases = leasesOf(pool, 'one')
  const round = roundOf(leases, async () => ({
    again: [{ id: 'again', dueAtMs: NOW + 5 }],
    over: ['over'],
  }))
  t.equal(await round(signal), 'more')
  t.match(await row('again'), { lease_owner: null, due_at_ms: NOW + 5 })
  t.equal(await row('over'), undefined)
  t.match(await row('left'), { lease_owner: 'one' }, 'it is freed with its worker')
  t.same([...leases.ids()], [])
  t.equal(await round(signal), 'idle')
})

t.test('a failed round postpones all its jobs, at the latest when the next begins', async (t) => {
  const { pool, row } = await startWork(t, { job: NOW })
  const leases = leasesOf(pool, 'one')
  const round = roundOf(leases, () => Promise.reject(new Error('failed')))
  await t.rejects(round(signal), /failed/)
  t.match(await row('job'), { lease_owner: null, due_at_ms: NOW + 9 })

  await pool.query(`update work.jobs set due_at_ms = $1`, [NOW])
  await pool.query(`
    create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused'; end $$;
    create trigger refused before update on work.jobs for each row
      when (new.lease_owner is null) execute function refuse();`)
  await t.rejects(round(signal), /refused/)
  t.match(await row('job'), { lease_owner: 'one' })
  await pool.query('drop trigger refused on work.jobs')
  t.equal(await round(signal), 'idle')
  t.match(await row('job'), { lease_owner: null, due_at_ms: NOW + 2_000 })
})
