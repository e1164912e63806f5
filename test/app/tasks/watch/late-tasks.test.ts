import t from 'tap'
import { readMarker, HOUR_MS, heldOf, makeUpstream, startScene, typesOf } from './support/scene.ts'
import { taskKey } from '../../support/world.ts'

const GIVEN_UP = ['TaskRequested', 'TaskSubmissionUncertain', 'TaskFailed']

t.test('a task that appears after it was given up is reported once, and not billed', async (t) => {
  const { world, tasks, lost, twoLooks, look, watch, pass, replica } = await startScene(t)
  const id = await lost()
  await twoLooks()
  t.same(typesOf(await world.eventsOf(id)), GIVEN_UP)
  pass(HOUR_MS)
  await watch()
  t.same(typesOf(await world.eventsOf(id)), GIVEN_UP, 'it is not there')

  await makeUpstream(world, await readMarker(world, id), '[[sandbox queued-ms=0 running-ms=0]]')
  pass(2 * HOUR_MS)
  const dying = replica({
    crashPoint: (name) => {
      if (name === 'watch.before-append') throw new Error('killed')
    },
  })
  await watch(dying)
  t.same(typesOf(await world.eventsOf(id)), GIVEN_UP, 'not written down yet')
  pass(2 * HOUR_MS)
  const watcher = replica()
  await watch(watcher)
  const events = await world.eventsOf(id)
  t.same(typesOf(events), [...GIVEN_UP, 'TaskAppearedLate'])
  const [upstream] = world.sandbox.accepted({ safety_identifier: await readMarker(world, id) })
  t.match(events.at(-1), { data: { nativeId: upstream?.id, possibleCostLeak: true } })
  t.equal((await watcher.deps.metrics.possibleCostLeaks.get()).values[0]?.value, 1)
  t.equal(await heldOf(world, id), 'released')
  t.match(await tasks.getTask(taskKey(id)), { status: 'failed', error: { code: 'not_accepted' } })
  const { rows: polls } = await world.pool.query(
    'select 1 from tasks.polls where platform_id = $1',
    [id],
  )
  t.same(polls, [], 'nothing more is looked for')
  pass(2 * HOUR_MS)
  await watch()
  await look()
  t.equal((await world.eventsOf(id)).length, events.length)
  const { rows: lines } = await world.pool.query(
    'select 1 from ledger.lines where source_id = $1',
    [id],
  )
  t.same(lines, [])
})

t.test('a watch ends after a day, and not before upstream could be queried', async (t) => {
  const { world, lost, twoLooks, watch, pass } = await startScene(t)
  const watched = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ n: number }>(
      `select count(*)::int as n from tasks.polls where kind = 'watch'`,
    )
    return rows[0]?.n ?? 0
  }
  await lost()
  await twoLooks()
  t.equal(await watched(), 1)
  pass(22 * HOUR_MS)
  await watch()
  t.equal(await watched(), 1)
  world.sandbox.faults.add({ faults: ['http=500'], match: { op: 'list' } })
  pass(3 * HOUR_MS)
  await watch()
  t.equal(await watched(), 1, 'the last list showed nothing')
  world.sandbox.faults.clear()
  pass(2 * HOUR_MS)
  await watch()
  t.equal(await watched(), 0)
  await lost()
  await twoLooks()
  world.sandbox.faults.add({ faults: ['http=500'], match: { op: 'list' } })
  pass(49 * HOUR_MS)
  await watch()
  t.equal(await watched(), 0, 'an upstream that stays away is not asked for ever')
})
