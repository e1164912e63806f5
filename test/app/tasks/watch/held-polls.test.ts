import t, { type Test } from 'tap'
import { HeldPolls } from '../../../../src/app/tasks/watch/held-polls.ts'
import type { DuePoll } from '../../../../src/app/tasks/watch/task-work.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { createInput, startWorld, type World } from '../../support/world.ts'

/** Far below a lease of 150 s. */
const SOON_MS = 60_000
const LOOKS = 5

const task = (n: number, given: Partial<DuePoll> = {}): DuePoll => ({
  platformId: `task-${n}`,
  tenantId: 'tenant',
  family: 'video-a',
  channelId: 'channel',
  nativeId: `native-${n}`,
  kind: 'poll',
  requestedAtMs: 0,
  expiresAtMs: 1e12,
  attempts: 1,
  absentAtMs: undefined,
  observedAtMs: 1,
  leasedUntilMs: 150_000,
  ...given,
})

const asked = (world: World): number => {
  const { routes } = world.sandbox.requests()
  return (routes['video-a.get']?.count ?? 0) + (routes['video-a.list']?.count ?? 0)
}

interface Row {
  readonly version: string
  readonly lease_owner: string | null
  readonly observed_at_ms: string | null
}

async function rowOf(world: World, id: string): Promise<Row | undefined> {
  const { rows } = await world.pool.query<Row>(
    `select xmin::text as version, lease_owner, observed_at_ms from tasks.polls
     where platform_id = $1`,
    [id],
  )
  return rows[0]
}

/** A task that takes its time upstream, once it is held. */
async function heldTask(t: Test, world: World): Promise<string> {
  const { tasks } = world.replica({ policies: true })
  const prompt = 'x [[sandbox running-ms=3600000]]'
  const { platformId } = await tasks.createTask(createInput({ prompt }))
  const before = await eventually('its lease after it was seen', async () => {
    const row = await rowOf(world, platformId)
    return row?.lease_owner !== null && row?.observed_at_ms !== null ? row : undefined
  })
  const looks = asked(world)
  await eventually('further looks', () => (asked(world) >= looks + LOOKS ? true : undefined))
  t.equal((await rowOf(world, platformId))?.lease_owner, before.lease_owner, 'it is held still')
  return platformId
}

t.test('held polls are due at their time, until they are dropped', async (t) => {
  const held = new HeldPolls()
  const [one, other] = [task(1), task(2)]
  t.ok(held.keepSeen(one, 1_000, 1))
  t.ok(held.keepSeen(other, 2_000, 1))
  t.same(held.due(999, 10), [])
  t.same(held.due(1_000, 10), [one])
  t.same(held.due(2_000, 10), [one, other])
  t.same(held.due(2_000, 1), [one])
  t.same(
    held.due(2_000, 10, () => false),
    [],
    'its channel has all it can take',
  )
  t.same(
    held.due(2_000, 10, (item) => item === other),
    [other],
  )
  t.ok(held.keep(one, 2_000))
  t.same(held.due(2_000, 10), [other, one], 'who was put off is behind who was not')
  held.drop([one])
  t.same(held.due(2_000, 10), [other])
})

t.test('tasks never seen, or due after their lease, are not held', async (t) => {
  const held = new HeldPolls()
  t.notOk(held.keepSeen(task(1, { observedAtMs: undefined }), 1_000, 1))
  t.ok(held.keepSeen(task(2), 90_000, 1))
  t.notOk(held.keepSeen(task(3), 90_001, 1))
  t.ok(held.keep(task(5, { observedAtMs: undefined }), 90_000), 'but for who is put off')
  t.notOk(held.keep(task(3), 90_001))
  t.ok(
    held.put(task(4, { observedAtMs: undefined }), 149_000),
    'and answers that could not be noted',
  )
  t.same(
    held.due(150_000, 10).map(({ platformId }) => platformId),
    ['task-2', 'task-5', 'task-4'],
  )
})

t.test('observations not yet written are given out once, the oldest first', async (t) => {
  const held = new HeldPolls()
  t.ok(held.keepSeen(task(1), 1_000, 11))
  t.ok(held.keepSeen(task(2), 1_000, 12))
  held.drop([task(1), task(2)])
  t.ok(held.keepSeen(task(3), 1_000, 13))
  t.ok(held.keepSeen(task(1), 2_000, 21))
  t.ok(held.keep(task(4), 2_000), 'it was not asked for')
  t.notOk(held.keepSeen(task(5), 90_001, 22), 'its row is written at once')
  t.same(held.takeSeen(2), [
    { platformId: 'task-1', observedAtMs: 21 },
    { platformId: 'task-2', observedAtMs: 12 },
  ])
  t.same(held.takeSeen(2), [{ platformId: 'task-3', observedAtMs: 13 }])
  t.same(held.takeSeen(2), [])
})

t.test('the row of a held task has its last answer, without a write a look', async (t) => {
  const world = await startWorld(t)
  const platformId = await heldTask(t, world)
  const first = await rowOf(world, platformId)
  const [looks, fromMs] = [asked(world), Date.now()]
  const versions = new Set<string>()
  // A starved machine looks no more often than it writes for a while.
  const last = await eventually('it is written again and again, of many more looks', async () => {
    const row = await rowOf(world, platformId)
    versions.add(row?.version ?? '')
    const isRare = asked(world) - looks > 2 * versions.size
    return versions.size > 3 && isRare ? row : undefined
  })
  const seconds = (Date.now() - fromMs) / 1_000
  t.ok(Number(last?.observed_at_ms) >= Number(first?.observed_at_ms) + 1_000, 'it moves on')
  t.ok(versions.size <= seconds + 1, 'less than a write a second')
  t.equal(last?.lease_owner, first?.lease_owner, 'and it is held all the while')
})

t.test('an observation that cannot be written stops no poll and is written later', async (t) => {
  const world = await startWorld(t)
  const platformId = await heldTask(t, world)
  await world.pool.query(`
    create function tasks.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused'; end $$;
    create trigger refuse before update of observed_at_ms on tasks.polls
      for each row execute function tasks.refuse()`)
  const [before, looks] = [await rowOf(world, platformId), asked(world)]
  await world.pool.query('select pg_sleep(4)')
  t.ok(asked(world) >= looks + 2 * LOOKS, 'it is asked for all the while')
  t.same(await rowOf(world, platformId), before)
  await world.pool.query('drop trigger refuse on tasks.polls')
  await eventually('a later answer', async () => {
    const row = await rowOf(world, platformId)
    return Number(row?.observed_at_ms) > Number(before?.observed_at_ms) + 4_000 ? true : undefined
  })
  t.pass('written')
})

t.test('a held task that another worker leased is not polled any more', async (t) => {
  const world = await startWorld(t)
  const platformId = await heldTask(t, world)
  await world.pool.query(`update tasks.polls set lease_owner = 'another'`)
  const taken = asked(world)
  await world.pool.query('select pg_sleep(3)')
  t.ok(asked(world) <= taken + 1, 'but for a look that had begun')
  await world.pool.query('update tasks.polls set lease_owner = null, due_at_ms = 0')
  await eventually('a new look', () => (asked(world) >= taken + LOOKS ? true : undefined))
  t.match(await rowOf(world, platformId), { lease_owner: 'replica-0' })
})

t.test('a task whose row cannot be written is polled again before its lease ends', async (t) => {
  const world = await startWorld(t)
  const slow = { faults: ['first-byte-ms=2000'], match: { op: ['get', 'list'] } }
  const fault = world.sandbox.faults.add(slow)
  const { tasks } = world.replica({ policies: true })
  const prompt = 'x [[sandbox running-ms=6000]]'
  const { platformId } = await tasks.createTask(createInput({ prompt }))
  await eventually('its lease', async () =>
    (await rowOf(world, platformId))?.lease_owner === 'replica-0' ? true : undefined,
  )
  await world.pool.query('alter table tasks.polls rename to elsewhere')
  await eventually('a look', () => (asked(world) > 0 ? true : undefined))
  world.sandbox.faults.clear(fault.id)
  await world.pool.query('select pg_sleep(3)')
  await world.pool.query('alter table tasks.elsewhere rename to polls')
  await eventually(
    'the settlement',
    async () => (await world.eventsOf(platformId)).find((event) => event.type === 'TaskSettled'),
    SOON_MS,
  )
  t.pass('seen soon')
})
