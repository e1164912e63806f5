import t from 'tap'
import { assetStream } from '../../../src/domain/asset/events.ts'
import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { eventually } from '../../helpers/eventually.ts'
import { codeOf, channelsWaiting, startWorld } from '../support/world.ts'
import {
  address,
  asking,
  assetEventsOf,
  groupEventsOf,
  MODEL,
  naming,
  newAsset,
  newGroup,
  OVERSEAS,
  placing,
  typesOf,
} from './support/library.ts'

const world = await startWorld(t)
const { log, sandbox } = world
const replica = world.replica({ policies: true })
const library = replica.assets

const upstreamNames = (): readonly string[] => sandbox.assets().map(({ name }) => name)
const timesUpstream = (id: string): number => upstreamNames().filter((name) => name === id).length
const statusOf = async (id: string): Promise<string> => (await library.getAsset(naming(id))).status

t.test('an asset is recorded before upstream is asked, and followed to its end', async (t) => {
  const groupId = await newGroup(library)
  const assetId = await newAsset(library, groupId)
  t.match(groupId, /^group-[0-9A-Z]{26}$/)
  t.match(assetId, /^asset-[0-9A-Z]{26}$/)
  const events = await eventually('it is active', async () => {
    const found = await assetEventsOf(log, assetId)
    return found.length === 3 ? found : undefined
  })
  t.same(typesOf(events), ['AssetCreated', 'AssetAccepted', 'AssetActivated'])
  t.match(events[0]?.data, { name: 'a boat', groupId, groupType: 'AIGC', projectName: 'default' })
  t.notMatch(JSON.stringify(events.map(({ data }) => data)), /https?:/, 'no address is kept (P7)')
  t.equal(timesUpstream(assetId), 1, 'it is known upstream by our id')
  t.same(typesOf(await groupEventsOf(log, groupId)), ['AssetGroupCreated', 'AssetGroupAccepted'])
  const shown = await library.getAsset(naming(assetId))
  t.match(shown, { status: 'Active', name: 'a boat', assetType: 'Image', region: 'domestic' })
  t.match(shown.url, /^http/, 'where it can be looked at comes from upstream, at that moment')
})

t.test('an event found by a caller’s read names that caller’s request', async (t) => {
  // A world where nobody else looks.
  const quiet = await startWorld(t)
  const idle = quiet.replica()
  const groupId = await newGroup(idle.assets)
  const assetId = await newAsset(idle.assets, groupId)
  const looking = naming(assetId)
  await eventually('it is active', async () => {
    const { status } = await idle.assets.getAsset(looking)
    return status === 'Active' ? true : undefined
  })
  const events = await quiet.log.readStream(assetStream(assetId))
  t.match(events.at(-1), {
    type: 'AssetActivated',
    metadata: { correlationId: looking.requestId },
  })
})

t.test('an asset that upstream fails to process is Failed, with the reason', async (t) => {
  const groupId = await newGroup(library)
  const assetId = await newAsset(library, groupId, { switches: 'fail=DownloadFailed' })
  await eventually('it failed', async () => (await statusOf(assetId)) === 'Failed')
  const { error } = await library.getAsset(naming(assetId))
  t.match(error, { code: 'DownloadFailed', message: /./ })
  t.notMatch(error?.message, /https?:|example\.com/)
})

t.test('an upload of unknown outcome is found by its name and never sent twice', async (t) => {
  const groupId = await newGroup(library)
  for (const switches of ['drop-after-accept', 'malformed', 'truncated']) {
    const assetId = await newAsset(library, groupId, { switches })
    await eventually(
      `${switches}: it is active`,
      async () => (await statusOf(assetId)) === 'Active',
    )
    const [, accepted] = await assetEventsOf(log, assetId)
    t.match(accepted, { type: 'AssetAccepted', data: { learntFrom: 'list' } }, switches)
    t.equal(timesUpstream(assetId), 1, switches)
  }
})

t.test('a refusal by upstream is answered, recorded and shown as failed', async (t) => {
  const groupId = await newGroup(library)
  const order = { ...placing(), groupId, assetType: 'Image', name: '' } as const
  const url = address('refuse=InvalidParameter.DownloadFailed')
  const refused = library.createAsset({ ...order, url })
  await t.rejects(refused, { code: 'submission_refused', details: { kind: 'invalid' } })
  const busy = library.createAsset({ ...order, url: address('http=429') })
  await t.rejects(busy, { code: 'submission_refused', details: { kind: 'rate_limited' } })
  const secret = library.createAsset({ ...order, url: address('refuse=InvalidAccessKey') })
  await t.rejects(secret, { code: 'submission_refused', details: { kind: 'account' } })
  await world.settle()
  const listing = { ...placing(), groupType: 'AIGC', groupIds: [groupId], name: undefined } as const
  const page = { pageNumber: 1, pageSize: 10, sortBy: 'CreateTime', sortOrder: 'Asc' } as const
  const { items, total } = await library.listAssets({ ...listing, ...page, statuses: ['Failed'] })
  t.equal(total, 3)
  t.match(items[0]?.error, { code: /DownloadFailed/ })
  for (const { error } of items.slice(1))
    t.equal(error?.code, 'UploadRefused', 'what is wrong with the account is nobody else’s')
})

t.test('after a crash at any step an asset is made once or reported as lost', async (t) => {
  const points: readonly CrashPointName[] = [
    'asset.after-created',
    'asset.after-provider',
    'asset.after-accepted',
  ]
  const groupId = await newGroup(library)
  const watching = world.replica({ policies: true, assetLimits: { lostAfterMs: 1_500 } })
  for (const point of points) {
    const dying = world.replica({
      crashPoint: (name) => {
        if (name === point) throw new Error(`died at ${point}`)
      },
    })
    const before = new Set(upstreamNames())
    const known = new Set((await listed()).map(({ assetId }) => assetId))
    await t.rejects(newAsset(dying.assets, groupId), { message: `died at ${point}` })
    const left = await eventually('it is listed', async () =>
      (await listed()).find(({ assetId }) => !known.has(assetId)),
    )
    const arrived = point !== 'asset.after-created'
    await eventually(`${point}: it ends`, async () =>
      ['Active', 'Failed'].includes(await statusOf(left.assetId)),
    )
    t.equal(await statusOf(left.assetId), arrived ? 'Active' : 'Failed', point)
    const made = upstreamNames().filter((name) => !before.has(name))
    t.same(made, arrived ? [left.assetId] : [], `${point}: upstream has it once or never`)
  }
  t.match(await watching.assets.getGroup(naming(groupId)), { groupId })
})

async function listed() {
  await world.settle()
  const page = { pageNumber: 1, pageSize: 100, sortBy: 'CreateTime', sortOrder: 'Desc' } as const
  const rest = { groupIds: undefined, name: undefined, statuses: undefined }
  return (await library.listAssets({ ...placing(), groupType: 'AIGC', ...rest, ...page })).items
}

t.test(
  'a group of unknown outcome is found by its name before an asset is put into it',
  async (t) => {
    sandbox.faults.add({
      faults: ['drop-after-accept'],
      match: { family: 'assets', op: 'create-group' },
    })
    const groupId = await newGroup(library)
    sandbox.faults.clear()
    const assetId = await newAsset(library, groupId)
    t.match(await groupEventsOf(log, groupId), [{}, { data: { learntFrom: 'list' } }])
    await eventually('it is active', async () => (await statusOf(assetId)) === 'Active')
  },
)

t.test('a caller does not wait long for a library that hangs', async (t) => {
  // A channel by itself would wait longer than a test file may take.
  const hanging = world.replica({ channels: channelsWaiting(world, 3_600_000) })
  sandbox.faults.add({
    faults: ['drop-after-accept'],
    match: { family: 'assets', op: 'create-group' },
  })
  const groupId = await newGroup(hanging.assets)
  sandbox.faults.clear()
  sandbox.faults.add({ faults: ['hang'], match: { family: 'assets', op: 'list-groups' } })
  t.equal(await codeOf(newAsset(hanging.assets, groupId)), 'upstream_timeout')
  sandbox.faults.clear()
})

t.test('the region of the model and the project of the group are checked', async (t) => {
  const groupId = await newGroup(library, { projectName: 'films' })
  const assetId = await newAsset(library, groupId, { projectName: 'films' })
  t.match(await library.getAsset(naming(assetId)), { projectName: 'films', region: 'domestic' })
  t.equal(
    await codeOf(newAsset(library, groupId, { projectName: 'other' })),
    'asset_group_not_found',
  )
  t.equal(await codeOf(newAsset(library, groupId, { model: OVERSEAS })), 'asset_region_mismatch')
  t.equal(
    await codeOf(library.getAsset({ ...naming(assetId), model: OVERSEAS })),
    'asset_region_mismatch',
  )
  t.equal(
    await codeOf(library.getAsset({ ...naming(assetId), projectName: 'other' })),
    'asset_not_found',
  )
  t.equal(await codeOf(newGroup(library, { model: 'h3-video' })), 'unknown_model')
  const models = new Set([OVERSEAS])
  const { principal } = asking()
  const limited = { principal: { ...principal, models } }
  t.equal(await codeOf(newGroup(library, { ...limited, model: MODEL })), 'model_not_allowed')
  t.match(await newGroup(library, { ...limited, model: OVERSEAS }), /^group-/)
})

t.test(
  'the general library cannot be changed or deleted, and foreign ids are unknown',
  async (t) => {
    const groupId = await newGroup(library)
    const assetId = await newAsset(library, groupId)
    const own = naming(assetId)
    t.equal(await codeOf(library.updateAsset({ ...own, name: 'b' })), 'asset_action_not_enabled')
    t.equal(await codeOf(library.deleteAsset(own)), 'asset_action_not_enabled')
    const ownGroup = naming(groupId)
    t.equal(await codeOf(library.deleteGroup(ownGroup)), 'asset_action_not_enabled')
    const renamed = { ...ownGroup, name: 'b', description: undefined }
    t.equal(await codeOf(library.updateGroup(renamed)), 'asset_action_not_enabled')
    await world.tenant('tenant_2', '100')
    for (const id of [assetId, 'asset-01ARZ3NDEKTSV4RRFFQ69G5FAV', '../asset', groupId]) {
      const foreign = naming(id, 'tenant_2')
      t.equal(await codeOf(library.getAsset(foreign)), 'asset_not_found', id)
      t.equal(await codeOf(library.deleteAsset(foreign)), 'asset_not_found', id)
    }
    t.equal(await codeOf(library.getGroup(naming(groupId, 'tenant_2'))), 'asset_group_not_found')
    t.equal(
      await codeOf(newAsset(library, groupId, { ...asking('tenant_2') })),
      'asset_group_not_found',
    )
  },
)

t.test('channel_not_available where no channel of the region has an asset library', async (t) => {
  const channels = world.channels.map(({ library: _library, ...channel }) => channel)
  const without = world.replica({ channels })
  t.equal(await codeOf(newGroup(without.assets)), 'channel_not_available')
})
