import t from 'tap'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import {
  earliestPolls,
  findTask,
  noteObservations,
  pollBacklog,
} from '../../../projections/tasks/query.ts'
import { endJobs, freeLeases, reschedule, stillLeased } from '../../../src/app/queue/tables.ts'
import { leaseDuePolls, leaseInTurn, taskWork } from '../../../src/app/tasks/watch/task-work.ts'
import { applied, testPool } from '../support/database.ts'
import {
  lives,
  nativeId,
  platformId,
  Recorder,
  recordStep,
  START_MS,
  type Life,
} from '../support/history.ts'

const LATER = START_MS + 1_000_000

function history(all: Readonly<Record<number, Life>>) {
  const recorder = new Recorder()
  return Object.entries(all).flatMap(([n, life]) =>
    lives[life].map((step) => recordStep(recorder, { n: Number(n) }, step)),
  )
}

t.test('tasks open upstream are due, ended ones are not', async (t) => {
  const pool = await testPool(t)
  const events = history({
    1: 'settled',
    2: 'stuck',
    3: 'queued',
    4: 'begun',
    5: 'refused',
    6: 'lost',
    7: 'cancelled',
    8: 'neverAccepted',
    9: 'appearedLate',
    10: 'givenUp',
    11: 'givenUpLate',
    12: 'givenUpUnreported',
  })
  await applied(t, pool, events, [tasksProjection], 3)
  const due = await leaseDuePolls(pool, { owner: 'a', nowMs: LATER, leaseMs: 10, limit: 10 })
  t.same(
    due
      .map(({ platformId: id, kind, nativeId: native }) => [id, kind, native])
      .sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1)),
    [
      [platformId(2), 'poll', nativeId(2)],
      [platformId(3), 'poll', nativeId(3)],
      [platformId(4), 'reconcile', null],
      [platformId(8), 'watch', null],
      [platformId(10), 'watch', null],
    ],
  )
  t.same(await pollBacklog(pool, LATER), [
    { kind: 'poll', open: 2, due: 0 },
    { kind: 'reconcile', open: 1, due: 0 },
    { kind: 'watch', open: 2, due: 0 },
  ])
})

t.test('the first due task and the first uncertain one are known', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history({ 1: 'stuck', 2: 'queued', 3: 'begun', 4: 'neverAccepted' }), [
    tasksProjection,
  ])
  await pool.query(`update tasks.polls set due_at_ms = requested_at_ms + 500000`)
  await pool.query(`update tasks.polls set due_at_ms = 7 where platform_id = $1`, [platformId(2)])
  await pool.query(`update tasks.polls set due_at_ms = 3 where kind = 'watch'`)
  const { rows } = await pool.query<{ requested_at_ms: string }>(
    `select requested_at_ms from tasks.polls where kind = 'reconcile'`,
  )
  t.equal(rows.length, 1)
  const uncertainMs = Number(rows[0]?.requested_at_ms)
  t.same(await earliestPolls(pool), { dueMs: 7, uncertainMs }, 'not the one that is only watched')
  await pool.query(`update tasks.polls set due_at_ms = 5 where kind = 'reconcile'`)
  t.same(await earliestPolls(pool), { dueMs: 5, uncertainMs })
  await pool.query(`delete from tasks.polls where kind <> 'watch'`)
  t.same(await earliestPolls(pool), { dueMs: undefined, uncertainMs: undefined })
})

t.test('a lease is exclusive, ends by itself, and only its owner can reschedule', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history({ 1: 'stuck', 2: 'stuck', 3: 'stuck' }), [tasksProjection])
  const lease = (owner: string, nowMs: number, limit = 10) =>
    leaseDuePolls(pool, { owner, nowMs, leaseMs: 1_000, limit, lane: 'poll' })
  t.equal((await lease('a', START_MS)).length, 0, 'nothing is due before its time')
  const both = await Promise.all([lease('a', LATER, 2), lease('b', LATER, 2)])
  const ids = both.flat().map((poll) => poll.platformId)
  t.equal(new Set(ids).size, ids.length, 'no task is leased twice')
  t.equal((await lease('c', LATER)).length, 3 - ids.length)
  t.equal((await lease('c', LATER + 1_000)).length, 3, 'all leases have ended')

  const [first] = ids
  await reschedule(pool, taskWork, 'a', [{ id: first!, dueAtMs: 0 }])
  t.equal(
    (await lease('d', LATER + 1_500)).length,
    0,
    'an owner whose lease has ended says nothing',
  )
  await reschedule(pool, taskWork, 'c', [
    { id: first!, dueAtMs: LATER + 1_200, notes: { observed_at_ms: LATER + 7 } },
  ])
  const again = await lease('d', LATER + 1_500)
  t.same(
    again.map((poll) => poll.platformId),
    [first],
  )
  t.equal(again[0]?.attempts, 3)
  const row = await findTask(pool, { tenantId: 'tenant_1', families: ['video-a'], id: first! })
  t.equal(row?.observedAtMs, LATER + 7, 'a poll without news still counts as an observation')
  await noteObservations(pool, [{ platformId: first!, observedAtMs: LATER + 3 }])
  const same = await findTask(pool, { tenantId: 'tenant_1', families: ['video-a'], id: first! })
  t.equal(same?.observedAtMs, LATER + 7, 'an earlier one does not')
})

t.test('a task that was given up is failed, and watched until its watch ends', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history({ 1: 'neverAccepted' }), [tasksProjection], 3)
  const key = { tenantId: 'tenant_1', families: ['video-a'], id: platformId(1) }
  t.match(await findTask(pool, key), {
    status: 'failed',
    submission: 'not_accepted',
    nativeId: null,
    error: { code: 'not_accepted' },
  })
  const lease = { nowMs: LATER, leaseMs: 1_000, limit: 5, lane: 'watch' }
  t.equal((await leaseDuePolls(pool, { owner: 'a', ...lease })).length, 1)
  await endJobs(pool, taskWork, { owner: 'b', lane: 'watch' }, [platformId(1)])
  t.same(await pollBacklog(pool, LATER), [{ kind: 'watch', open: 1, due: 0 }], 'not its lease')
  await endJobs(pool, taskWork, { owner: 'a', lane: 'watch' }, [platformId(1)])
  t.same(await pollBacklog(pool, LATER), [])
})

t.test('the first look that proves an absence is kept, whichever worker looks next', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history({ 1: 'begun' }), [tasksProjection], 3)
  const looked = async (owner: string, nowMs: number, absentAtMs: number | undefined) => {
    const [due] = await leaseDuePolls(pool, { owner, nowMs, leaseMs: 5, limit: 5 })
    const notes = { absent_at_ms: absentAtMs }
    await reschedule(pool, taskWork, owner, [{ id: platformId(1), dueAtMs: nowMs, notes }])
    return due?.absentAtMs
  }
  t.equal(await looked('a', LATER, undefined), undefined)
  t.equal(await looked('a', LATER, LATER - 3), undefined)
  t.equal(await looked('b', LATER, LATER), LATER - 3)
  t.equal(await looked('b', LATER, undefined), LATER - 3)
})

t.test('the owner of a lease on an open task still has it; channels may be left out', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history({ 1: 'stuck', 2: 'stuck', 3: 'begun' }), [tasksProjection], 3)
  await pool.query(`update tasks.polls set channel_id = 'busy' where platform_id = $1`, [
    platformId(1),
  ])
  const lease = { owner: 'a', nowMs: LATER, leaseMs: 1_000, limit: 5 }
  const due = await leaseDuePolls(pool, { ...lease, besidesChannels: ['busy', 'another'] })
  t.same(
    due.map((poll) => poll.platformId).toSorted((one, other) => (one < other ? -1 : 1)),
    [platformId(2), platformId(3)],
  )
  t.ok(due.every(({ leasedUntilMs }) => leasedUntilMs === LATER + 1_000))
  const all = [1, 2, 3, 4].map(platformId)
  const leasedTo = async (owner: string) => [
    ...(await stillLeased(pool, taskWork, { owner, lane: 'poll' }, all)),
  ]
  t.same(await leasedTo('a'), [platformId(2)], 'what is asked for by its id')
  t.same(await leasedTo('b'), [])
  await pool.query('delete from tasks.polls where platform_id = $1', [platformId(2)])
  t.same(await leasedTo('a'), [], 'it has ended')
})

t.test(
  'a begun task stays leased to its worker, or is ended at once if that is gone',
  async (t) => {
    const pool = await testPool(t)
    const recorder = new Recorder()
    const step = (n: number, name: 'waiting' | 'started') => recordStep(recorder, { n }, name)
    const waiting = [step(1, 'waiting'), step(2, 'waiting')]
    await applied(t, pool, waiting, [tasksProjection])
    const lease = { nowMs: LATER, leaseMs: 600_000, limit: 1, lane: 'make' }
    const [kept] = await leaseInTurn(pool, { ...lease, owner: 'maker' })
    const [lost] = await leaseInTurn(pool, { ...lease, owner: 'gone' })
    await freeLeases(pool, taskWork, ['gone'], LATER)
    await applied(t, pool, [...waiting, step(1, 'started'), step(2, 'started')], [tasksProjection])
    const rowOf = async (id: string | undefined) => {
      const { rows } = await pool.query(
        `select kind, lease_owner, attempts, due_at_ms = expires_at_ms as at_its_end,
              due_at_ms = requested_at_ms as at_once
       from tasks.polls where platform_id = $1`,
        [id],
      )
      return rows[0]
    }
    t.match(await rowOf(kept?.platformId), {
      kind: 'finish',
      lease_owner: 'maker',
      at_its_end: true,
    })
    t.match(await rowOf(lost?.platformId), { kind: 'finish', lease_owner: null, at_once: true })
    t.match(await freeLeases(pool, taskWork, ['maker'], LATER), { released: 1 })
  },
)

t.test('rows that another process is leasing are skipped, in either order', async (t) => {
  const pool = await testPool(t)
  const events = history({ 1: 'stuck', 2: 'stuck', 3: 'waiting', 4: 'waiting' })
  await applied(t, pool, events, [tasksProjection], 3)
  const client = await pool.connect()
  t.teardown(() => client.release())
  for (const [lane, lease] of [
    ['poll', leaseDuePolls],
    ['make', leaseInTurn],
  ] as const) {
    const wish = { nowMs: LATER, leaseMs: 1_000, lane }
    await client.query('begin')
    const [one] = await lease(client, { ...wish, owner: 'a', limit: 1 })
    const others = await lease(pool, { ...wish, owner: 'b', limit: 5 })
    await client.query('commit')
    t.equal(others.length, 1)
    t.not(others[0]?.platformId, one?.platformId)
    t.same(await lease(pool, { ...wish, owner: 'c', limit: 5 }), [])
  }
})
