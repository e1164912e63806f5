import t from 'tap'
import { eventually, until } from '../../helpers/eventually.ts'
import { startWorld } from '../support/world.ts'
import { assetEventsOf, naming, newAsset, newGroup, typesOf } from './support/library.ts'

const world = await startWorld(t)
const { log, sandbox } = world

const COUNT = 250
const requestsOf = (op: string): number => sandbox.requests().routes[`assets.${op}`]?.count ?? 0

t.test('few list requests follow many assets, each to exactly one end', async (t) => {
  const creating = world.replica()
  const groupId = await newGroup(creating.assets)
  const ids: string[] = []
  for (let made = 0; made < COUNT; made += 25)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: 25 }, () =>
          newAsset(creating.assets, groupId, { switches: 'running-ms=2500' }),
        ),
      )),
    )
  await world.settle()
  const before = { get: requestsOf('get'), list: requestsOf('list') }
  const workers = [0, 1].map(() => world.replica({ policies: true, scale: 1 }))
  for (const id of ids)
    await eventually(`${id} is active`, async () => (await assetEventsOf(log, id)).length === 3)
  const asked = { get: requestsOf('get') - before.get, list: requestsOf('list') - before.list }
  for (const id of ids)
    t.same(typesOf(await assetEventsOf(log, id)), [
      'AssetCreated',
      'AssetAccepted',
      'AssetActivated',
    ])
  // What has ended is found in lists as well, but for few at a time.
  t.ok(asked.get <= COUNT / 2, `${asked.get} queries`)
  t.ok(asked.list <= COUNT / 2, `${asked.list} lists`)
  await Promise.all(workers.map((worker) => worker.stop()))
})

t.test('assets that no list shows are requested one by one', async (t) => {
  sandbox.faults.add({ faults: ['empty-list'], match: { family: 'assets', op: 'list' } })
  const replica = world.replica({ policies: true })
  const groupId = await newGroup(replica.assets)
  const ids = await Promise.all(
    Array.from({ length: 12 }, () =>
      newAsset(replica.assets, groupId, { switches: 'running-ms=300' }),
    ),
  )
  for (const id of ids)
    await eventually(`${id} is active`, async () => (await assetEventsOf(log, id)).length === 3)
  sandbox.faults.clear()
  t.match(typesOf(await assetEventsOf(log, ids[0] ?? '')).at(-1), 'AssetActivated')
  await replica.stop()
})

t.test('a failing library is asked again, and an asset ends only by upstream’s word', async (t) => {
  const replica = world.replica({ policies: true })
  const groupId = await newGroup(replica.assets)
  const assetId = await newAsset(replica.assets, groupId, { switches: 'running-ms=200' })
  sandbox.faults.add({ faults: ['http=503'], match: { family: 'assets', op: 'get' } })
  const refused = (): number => sandbox.requests().routes['assets.get']?.by_status['503'] ?? 0
  await until(() => refused() >= 3)
  t.match(await replica.assets.getAsset(naming(assetId)), { status: 'Processing' })
  sandbox.faults.clear()
  await eventually('it is active', async () => (await assetEventsOf(log, assetId)).length === 3)
})

t.test('an asset that stays in processing too long is Failed', async (t) => {
  const replica = world.replica({ policies: true, assetLimits: { longestProcessingMs: 500 } })
  const groupId = await newGroup(replica.assets)
  const assetId = await newAsset(replica.assets, groupId, { switches: 'stall' })
  await eventually('it failed', async () => (await assetEventsOf(log, assetId)).length === 3)
  t.match(await replica.assets.getAsset(naming(assetId)), {
    status: 'Failed',
    error: { code: 'ProcessingTimedOut' },
  })
  await replica.stop()
})

t.test('an asset that upstream does not show is Processing, later Failed', async (t) => {
  const patient = world.replica()
  const groupId = await newGroup(patient.assets)
  const assetId = await newAsset(patient.assets, groupId, { switches: 'gone' })
  t.match(await patient.assets.getAsset(naming(assetId)), { status: 'Processing' })
  t.same(typesOf(await assetEventsOf(log, assetId)), ['AssetCreated', 'AssetAccepted'])
  const strict = world.replica({ policies: true, assetLimits: { lostAfterMs: 300 } })
  await eventually('it is gone', async () => (await assetEventsOf(log, assetId)).length === 3)
  t.match(await strict.assets.getAsset(naming(assetId)), {
    status: 'Failed',
    error: { code: 'ResourceNotFound' },
  })
  await strict.stop()
})

t.test('work postponed before a clock was set back is done', async () => {
  const creating = world.replica()
  const groupId = await newGroup(creating.assets)
  const assetId = await newAsset(creating.assets, groupId)
  await world.settle()
  await world.pool.query(
    `insert into ops.asset_work (id, due_at_ms, attempts) values ($1, $2, 1)
     on conflict (id) do update set due_at_ms = excluded.due_at_ms`,
    [assetId, Date.now() + 3_600_000],
  )
  const working = world.replica({ policies: true })
  await eventually('it is active', async () => (await assetEventsOf(log, assetId)).length === 3)
  await working.stop()
})
