import t from 'tap'
import { assetsProjection } from '../../../projections/assets/projection.ts'
import { assetsOfGroup, openVerifications } from '../../../projections/assets/query.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import {
  assetMigrations,
  assetWork,
  leaseAssetWork,
} from '../../../src/app/assets/watch/asset-work.ts'
import { reschedule } from '../../../src/app/queue/tables.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder, START_MS } from '../support/history.ts'
import {
  assetId,
  groupId,
  recordAsset,
  recordGroup,
  recordVerification,
  verificationId,
} from '../support/library.ts'

const pool = await testPool(t)
await migrate(pool, [assetMigrations])
const recorder = new Recorder()
const person = { groupType: 'LivenessFace' } as const
await applied(
  t,
  pool,
  [
    ...recordGroup(recorder, { n: 0, ...person }, 'created', 'accepted'),
    ...recordGroup(recorder, { n: 1, ...person }, 'created', 'accepted', 'withdrawn'),
    ...recordAsset(recorder, { n: 0, group: 0, ...person }, 'created'),
    ...recordAsset(recorder, { n: 1, group: 0, ...person }, 'created', 'accepted'),
    ...recordAsset(recorder, { n: 2, group: 0, ...person }, 'created', 'accepted', 'withdrawn'),
    ...recordAsset(recorder, { n: 3, group: 1, ...person }, 'created', 'accepted', 'withdrawn'),
    ...recordAsset(recorder, { n: 4, group: 0, ...person }, 'created', 'refused'),
    ...recordVerification(recorder, { n: 7, ...person }, 'started', 'confirmed'),
  ],
  [assetsProjection],
)

const HOUR_MS = 3_600_000
const LATER_MS = START_MS + HOUR_MS
const lease = async (nowMs: number, askedBeforeMs: number) => {
  const channel = { owner: 'one', lane: 'video-a-1', leaseMs: 1_000, limit: 100 }
  const works = await leaseAssetWork(pool, { ...channel, nowMs, askedBeforeMs })
  const found = works.map(({ kind, id, attempts }) => [kind, id, attempts] as const)
  return found.toSorted(([one], [other]) => (one < other ? -1 : 1))
}

t.test(
  'work that its caller still does is not leased, nor is that of a deleted group',
  async (t) => {
    t.same(await lease(LATER_MS, START_MS - 1), [['look', assetId(1), 1]])
    t.same(await lease(LATER_MS, START_MS + 1_000), [['find-asset', assetId(0), 1]])
    t.same(await lease(LATER_MS, LATER_MS), [
      ['delete-asset', assetId(2), 1],
      ['delete-group', groupId(1), 1],
    ])
    t.same(await lease(LATER_MS, LATER_MS), [], 'all of it is leased')
  },
)

t.test('looks do not count as attempts of later work', async (t) => {
  const again = LATER_MS + 2_000
  t.same(
    (await lease(again, again)).map(([, , attempts]) => attempts),
    [2, 2, 2, 2],
  )
  await reschedule(pool, assetWork, 'one', [
    { id: assetId(1), dueAtMs: again, attempts: 0 },
    { id: assetId(2), dueAtMs: again, attempts: 2 },
  ])
  t.same(await lease(again, again), [
    ['delete-asset', assetId(2), 3],
    ['look', assetId(1), 1],
  ])
})

t.test('rows that another process is leasing are skipped', async (t) => {
  const at = LATER_MS + 10_000
  const wish = { lane: 'video-a-1', leaseMs: 1_000, nowMs: at, askedBeforeMs: at }
  const client = await pool.connect()
  t.teardown(() => client.release())
  await client.query('begin')
  const [one] = await leaseAssetWork(client, { ...wish, owner: 'one', limit: 1 })
  const others = await leaseAssetWork(pool, { ...wish, owner: 'two', limit: 100 })
  await client.query('commit')
  t.equal(others.length, 3)
  t.notOk(others.some(({ id }) => id === one?.id))
  t.same(await leaseAssetWork(pool, { ...wish, owner: 'three', limit: 100 }), [])
})

t.test('the assets of a group to delete include refused ones, not deleted ones', async (t) => {
  t.same(await assetsOfGroup(pool, groupId(0)), [0, 1, 2, 4].map(assetId))
})

t.test('a person without a group is looked for within a period', async (t) => {
  const open = (confirmedFromMs: number) =>
    openVerifications(pool, {
      expiredAtMs: START_MS,
      confirmedFromMs,
      confirmedBeforeMs: LATER_MS,
      limit: 10,
    })
  t.match(await open(START_MS), [{ verificationId: verificationId(7) }])
  t.same(await open(START_MS + HOUR_MS / 2), [])
})
