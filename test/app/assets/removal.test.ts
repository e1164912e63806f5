import t from 'tap'
import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { pause } from '../../../src/kernel/pause.ts'
import { eventually } from '../../helpers/eventually.ts'
import { codeOf, startWorld } from '../support/world.ts'
import {
  activeAsset,
  assetEventsOf,
  groupEventsOf,
  naming,
  newAsset,
  newPerson,
  placing,
  typesOf,
} from './support/library.ts'

const world = await startWorld(t)
const { log, sandbox } = world
const library = world.replica({ policies: true }).assets

const isUpstream = (name: string): boolean =>
  sandbox.assets().some((asset) => asset.name === name && !asset.deleted)
const lastOf = async (assetId: string): Promise<string | undefined> =>
  typesOf(await assetEventsOf(log, assetId)).at(-1)

t.test('groups and assets of a person can be renamed, in the gateway only', async (t) => {
  const groupId = await newPerson(library)
  const assetId = await activeAsset(library, groupId)
  await library.updateAsset({ ...naming(assetId), name: 'front' })
  await library.updateAsset({ ...naming(assetId), name: 'front' })
  t.match(await library.getAsset(naming(assetId)), { name: 'front' })
  t.equal(
    typesOf(await assetEventsOf(log, assetId)).filter((type) => type === 'AssetUpdated').length,
    1,
  )
  await library.updateGroup({ ...naming(groupId), name: 'Ann', description: undefined })
  await library.updateGroup({ ...naming(groupId), name: undefined, description: 'consented' })
  t.match(await library.getGroup(naming(groupId)), { name: 'Ann', description: 'consented' })
  t.ok(isUpstream(assetId), 'upstream knows it by our id')
})

t.test('a deleted asset is deleted upstream and in the gateway, for good', async (t) => {
  const groupId = await newPerson(library)
  const assetId = await activeAsset(library, groupId)
  await library.deleteAsset(naming(assetId))
  t.same(typesOf(await assetEventsOf(log, assetId)).slice(-2), ['AssetWithdrawn', 'AssetDeleted'])
  t.notOk(isUpstream(assetId))
  t.equal(await codeOf(library.getAsset(naming(assetId))), 'asset_not_found')
  t.equal(await codeOf(library.deleteAsset(naming(assetId))), 'asset_not_found')
})

t.test(
  'an asset whose deletion fails upstream is unusable, and is deleted later by a retry or the gateway',
  async (t) => {
    const groupId = await newPerson(library)
    for (const fault of ['http=500', 'drop-after-accept', 'http=429']) {
      const assetId = await activeAsset(library, groupId)
      sandbox.faults.add({ faults: [fault], match: { family: 'assets', op: 'delete' } })
      t.equal(await codeOf(library.deleteAsset(naming(assetId))), 'upstream_unavailable', fault)
      t.match(await library.getAsset(naming(assetId)), {
        status: 'Failed',
        error: { code: 'AssetWithdrawn' },
      })
      sandbox.faults.clear()
      await eventually('it is deleted', async () => (await lastOf(assetId)) === 'AssetDeleted')
      t.notOk(isUpstream(assetId))
    }
  },
)

t.test('a deletion that fails after the withdrawal can be requested again', async (t) => {
  const groupId = await newPerson(library)
  const assetId = await activeAsset(library, groupId)
  const failing = world.replica({
    crashPoint: (name) => {
      if (name === 'asset.after-deletion') throw new DomainError('log_unavailable', 'away', {})
    },
  })
  const refused = await failing.assets
    .deleteAsset(naming(assetId))
    .catch((thrown: unknown) => thrown)
  t.match(refused, { code: 'upstream_unavailable', message: /send the same deletion again/ })
  await library.deleteAsset(naming(assetId))
  t.equal(await lastOf(assetId), 'AssetDeleted')
})

t.test('deleting a group deletes every asset of it', async (t) => {
  const groupId = await newPerson(library)
  const active = await activeAsset(library, groupId)
  const processing = await newAsset(library, groupId, { switches: 'running-ms=600000' })
  const other = await activeAsset(library, await newPerson(library))
  await library.deleteGroup(naming(groupId))
  for (const assetId of [active, processing]) {
    t.equal(await lastOf(assetId), 'AssetDeleted')
    t.notOk(isUpstream(assetId))
    t.equal(await codeOf(library.getAsset(naming(assetId))), 'asset_not_found')
  }
  t.equal(await codeOf(library.getGroup(naming(groupId))), 'asset_group_not_found')
  t.equal(await codeOf(newAsset(library, groupId)), 'asset_group_not_found')
  t.ok(isUpstream(other), 'another person keeps theirs')
  t.same(typesOf(await groupEventsOf(log, groupId)).slice(-2), [
    'AssetGroupWithdrawn',
    'AssetGroupDeleted',
  ])
})

t.test('a deletion interrupted at any step is completed', async (t) => {
  const points: readonly CrashPointName[] = [
    'asset.after-group-withdrawn',
    'asset.after-withdrawn',
    'asset.after-deletion',
  ]
  for (const point of points) {
    const dying = world.replica({
      crashPoint: (name) => {
        if (name === point) throw new Error(`died at ${point}`)
      },
    })
    const groupId = await newPerson(library)
    const assetIds = [await activeAsset(library, groupId), await activeAsset(library, groupId)]
    await t.rejects(dying.assets.deleteGroup(naming(groupId)), { message: `died at ${point}` })
    await eventually('the group is deleted', async () => {
      const types = typesOf(await groupEventsOf(log, groupId))
      return types.at(-1) === 'AssetGroupDeleted'
    })
    for (const assetId of assetIds) {
      t.equal(await lastOf(assetId), 'AssetDeleted', point)
      t.notOk(isUpstream(assetId), point)
    }
    const alone = await activeAsset(library, await newPerson(library))
    if (point === 'asset.after-group-withdrawn') continue
    await t.rejects(dying.assets.deleteAsset(naming(alone)), { message: `died at ${point}` })
    await eventually('the asset is deleted', async () => (await lastOf(alone)) === 'AssetDeleted')
    t.notOk(isUpstream(alone), point)
  }
})

t.test('an asset created during the deletion of its group is refused or deleted', async (t) => {
  for (let round = 0; round < 12; round += 1) {
    const groupId = await newPerson(library)
    const before = new Set(sandbox.assets().map(({ name }) => name))
    const [created] = await Promise.allSettled([
      newAsset(library, groupId, { switches: 'running-ms=600000' }),
      pause(round).then(() => library.deleteGroup(naming(groupId))),
    ])
    const made = sandbox.assets().filter(({ name }) => !before.has(name))
    for (const { name } of made) t.notOk(isUpstream(name), 'upstream keeps nothing of it')
    const left = created.status === 'fulfilled' ? [created.value] : made.map(({ name }) => name)
    for (const assetId of left)
      await eventually('it has its end', async () =>
        /AssetDeleted|AssetRefused/.test((await lastOf(assetId)) ?? ''),
      )
    if (created.status === 'rejected')
      t.match(created.reason, { code: /^asset_group_not_found$|^submission_refused$/ })
  }
})

t.test('an asset of uncertain creation is found and deleted by the deletion request', async (t) => {
  const groupId = await newPerson(library)
  const idle = world.replica().assets
  const assetId = await newAsset(idle, groupId, { switches: 'drop-after-accept' })
  await idle.deleteAsset(naming(assetId))
  t.equal(await lastOf(assetId), 'AssetDeleted')
  t.equal(await codeOf(idle.getAsset(naming(assetId))), 'asset_not_found')
  t.notOk(isUpstream(assetId))
})

t.test('an asset that may still arrive upstream is not reported as deleted', async (t) => {
  const groupId = await newPerson(library)
  const idle = world.replica().assets
  const assetId = await newAsset(idle, groupId, { switches: 'drop-before-accept' })
  t.equal(await codeOf(idle.deleteAsset(naming(assetId))), 'upstream_unavailable')
  t.match(await idle.getAsset(naming(assetId)), { error: { code: 'AssetWithdrawn' } })
  t.equal(await lastOf(assetId), 'AssetWithdrawn')
  const later = world.replica({ assetLimits: { lostAfterMs: 0 } }).assets
  await later.deleteAsset(naming(assetId))
  t.equal(await lastOf(assetId), 'AssetDeleted')
})

t.test('an asset that upstream refused is deleted at once', async (t) => {
  const groupId = await newPerson(library)
  const before = new Set((await listed(groupId)).map(({ assetId }) => assetId))
  const refused = newAsset(library, groupId, { switches: 'refuse=InvalidParameter.DownloadFailed' })
  t.equal(await codeOf(refused), 'submission_refused')
  const [asset] = (await listed(groupId)).filter(({ assetId }) => !before.has(assetId))
  t.match(asset, { status: 'Failed' })
  await library.deleteAsset(naming(asset?.assetId ?? ''))
  t.equal(await lastOf(asset?.assetId ?? ''), 'AssetDeleted')
})

async function listed(groupId: string) {
  await world.settle()
  const { items } = await library.listAssets({
    ...placing(),
    groupType: 'LivenessFace',
    groupIds: [groupId],
    name: undefined,
    statuses: ['Failed'],
    pageNumber: 1,
    pageSize: 10,
    sortBy: 'CreateTime',
    sortOrder: 'Asc',
  })
  return items
}
