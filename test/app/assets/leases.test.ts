import t from 'tap'
import { leaseAssetWork } from '../../../src/app/assets/watch/asset-work.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startWorld } from '../support/world.ts'
import { assetEventsOf, newAsset, newGroup } from './support/library.ts'

const world = await startWorld(t)
const { log, pool } = world
const LEASE_MS = 120_000
/** Far below a lease. */
const SOON_MS = 90_000
const [channel] = world
  .replica()
  .assetDeps.channels.all.filter(({ library }) => library !== undefined)

/** What is due, leased by another process whose clock is ahead. */
const leasedBy = (owner: string, aheadMs = 0) =>
  leaseAssetWork(pool, {
    owner,
    lane: channel?.id ?? '',
    nowMs: Date.now() + aheadMs,
    leaseMs: LEASE_MS,
    limit: 100,
    askedBeforeMs: Date.now() + 60_000,
  })

async function newAssetUpstream(): Promise<string> {
  const creating = world.replica()
  const groupId = await newGroup(creating.assets)
  const assetId = await newAsset(creating.assets, groupId)
  await world.settle()
  return assetId
}

const rowOf = async (id: string) => {
  const { rows } = await pool.query<{ due: number; owner: string | null }>(
    `select due_at_ms::float8 as due, lease_owner as owner from ops.asset_work where id = $1`,
    [id],
  )
  return rows[0]
}

t.test('work leased by a dead worker is done by the next worker in seconds', async (t) => {
  const assetId = await newAssetUpstream()
  t.same(
    (await leasedBy('dead')).map(({ id }) => id),
    [assetId],
  )
  await pool.query(`insert into ops.workers values ('dead', now())`)
  const working = world.replica({ policies: true })
  const isActive = async () => (await assetEventsOf(log, assetId)).length === 3
  await eventually('it is active', isActive, SOON_MS)
  await working.stop()
})

t.test('work leased by a live process is left to it, stray leases are not', async (t) => {
  const assetId = await newAssetUpstream()
  t.equal((await leasedBy('other', 20_000)).length, 1)
  const leased = await rowOf(assetId)
  await pool.query(
    `insert into ops.asset_work (id, channel_id, due_at_ms, attempts, lease_owner)
     values ('stray', $1, $2, 1, 'other')`,
    [channel?.id, Date.now() + 3_600_000],
  )
  const working = world.replica({ policies: true })
  await eventually('the stray one is recalled', async () => {
    const row = await rowOf('stray')
    return row?.owner === null && row.due <= Date.now()
  })
  t.same(await rowOf(assetId), leased)
  t.equal((await assetEventsOf(log, assetId)).length, 2, 'it is not worked on twice')
  await working.stop()
})

t.test('a slow process records no event of work that another one has leased', async (t) => {
  const slow = world.replica({ policies: true })
  const slowly = { faults: ['first-byte-ms=1500'], match: { family: 'assets', op: 'get' } }
  const fault = world.sandbox.faults.add(slowly)
  const assetId = await newAssetUpstream()
  await eventually('it is leased', async () => {
    const owner = (await rowOf(assetId))?.owner
    return owner?.startsWith('replica-')
  })
  await pool.query(
    `update ops.asset_work set lease_owner = 'another', due_at_ms = $2 where id = $1`,
    [assetId, Date.now() + LEASE_MS],
  )
  const taken = await rowOf(assetId)
  await slow.stop()
  t.same(await rowOf(assetId), taken)
  world.sandbox.faults.clear(fault.id)
})
