import t from 'tap'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { codeOf, createInput, startWorld } from '../support/world.ts'
import {
  activeAsset,
  asking,
  assetEventsOf,
  naming,
  newAsset,
  newGroup,
  newPerson,
  OVERSEAS,
  placing,
  typesOf,
} from './support/library.ts'

const world = await startWorld(t)
const { log, sandbox } = world
const replica = world.replica({ policies: true })
const { assets: library, tasks } = replica

const using = (
  assetId: string,
  wish: Parameters<typeof createInput>[0] & { readonly kind?: string } = {},
) => {
  const { kind = 'image', body, ...rest } = wish
  const item = {
    type: `${kind}_url`,
    role: `reference_${kind}`,
    [`${kind}_url`]: { url: `asset://${assetId}` },
  }
  const content = [{ type: 'text', text: 'a boat' }, item]
  return createInput({ ...rest, body: { content, ...body } })
}
const nativeOf = (name: string): string | undefined =>
  sandbox.assets().find((asset) => asset.name === name)?.id

async function countOfRequests(): Promise<number> {
  let count = 0
  for await (const { type } of log.readAll()) if (type === 'TaskRequested') count += 1
  return count
}

t.test('an active asset is used under its upstream name', async (t) => {
  const assetId = await activeAsset(library, await newGroup(library))
  // Upstream takes what it knows alone.
  t.match(await tasks.createTask(using(assetId)), { nativeId: /^cgt-/ })
  t.not(nativeOf(assetId), assetId)
  t.same(typesOf(await assetEventsOf(log, assetId)), [
    'AssetCreated',
    'AssetAccepted',
    'AssetActivated',
  ])
})

t.test(
  'an unusable asset is refused by name before any event is written or request sent',
  async (t) => {
    const groupId = await newGroup(library, { projectName: 'films' })
    const assetId = await activeAsset(library, groupId, { projectName: 'films' })
    const pending = await newAsset(library, groupId, { switches: 'stall' })
    const requested = await countOfRequests()
    const before = sandbox.accepted().length
    const refusals = [
      ['asset_not_found', using('asset-01ARZ3NDEKTSV4RRFFQ69G5FAV')],
      ['asset_not_found', using('made-up')],
      ['asset_not_found', using(assetId, { tenantId: 'tenant_2' })],
      ['asset_not_found', using(assetId, { body: { ProjectName: 'other' } })],
      ['asset_not_active', using(pending)],
      ['asset_region_mismatch', using(assetId, { model: OVERSEAS })],
      ['invalid_request', using(assetId, { kind: 'video' })],
    ] as const
    for (const [code, input] of refusals) {
      const error = await tasks.createTask(input).catch((thrown: unknown) => thrown)
      t.ok(isDomainError(error), code)
      t.match(error, { code, details: { param: 'content', platformId: undefined } })
    }
    t.equal(await countOfRequests(), requested)
    t.equal(sandbox.accepted().length, before)
    t.match(await tasks.createTask(using(assetId, { body: { ProjectName: 'films' } })), {
      nativeId: /./,
    })
  },
)

t.test('a creation refused by its token’s rate limit records no use of an asset', async (t) => {
  const assetId = await activeAsset(library, await newPerson(library))
  const { principal } = createInput({ limits: { requestsPerMinute: 1 } })
  const limited = { ...principal, tokenId: 'token_of_one_a_minute' }
  await tasks.createTask({ ...createInput(), principal: limited })
  const before = (await assetEventsOf(log, assetId)).length
  t.equal(await codeOf(tasks.createTask({ ...using(assetId), principal: limited })), 'rate_limited')
  t.equal((await assetEventsOf(log, assetId)).length, before)
})

t.test('a repeated creation is answered as before, after its asset was deleted', async (t) => {
  const groupId = await newPerson(library)
  const assetId = await activeAsset(library, groupId)
  const input = using(assetId, { idempotencyKey: 'with an asset' })
  const first = await tasks.createTask(input)
  await library.deleteAsset(naming(assetId))
  const again = await tasks.createTask({ ...input, ...asking() })
  t.match(again, { platformId: first.platformId, replayed: true })
  t.equal(await codeOf(tasks.createTask(using(assetId))), 'asset_not_found')
})

t.test('of a creation and a deletion at once one wins, and the log records which', async (t) => {
  const groupId = await newPerson(library)
  const outcomes = { used: 0, refused: 0 }
  for (let round = 0; round < 12; round += 1) {
    const assetId = await activeAsset(library, groupId)
    const [created] = await Promise.allSettled([
      tasks.createTask(using(assetId)),
      library.deleteAsset(naming(assetId)),
    ])
    const types = typesOf(await assetEventsOf(log, assetId))
    const used = types.indexOf('AssetUsed')
    const withdrawn = types.indexOf('AssetWithdrawn')
    t.ok(withdrawn > 0)
    if (created.status === 'fulfilled') {
      t.ok(used > 0 && used < withdrawn, 'the use was first')
      outcomes.used += 1
    } else if (used === -1) {
      t.match(created.reason, { code: /^asset_not_(?:active|found)$/ })
      outcomes.refused += 1
    } else {
      // Upstream had let go of it before the task, which was first in the log, came there.
      t.ok(used < withdrawn)
      t.match(created.reason, { code: 'submission_refused' })
    }
  }
  t.comment(outcomes)
})

t.test('a withdrawn asset is refused from the first moment of its deletion', async (t) => {
  const groupId = await newPerson(library)
  const assetId = await activeAsset(library, groupId)
  sandbox.faults.add({ faults: ['http=500'], match: { family: 'assets', op: 'delete' } })
  t.equal(await codeOf(library.deleteAsset(naming(assetId))), 'upstream_unavailable')
  t.equal(await codeOf(tasks.createTask(using(assetId))), 'asset_not_active')
  const other = await activeAsset(library, groupId)
  const dying = world.replica({
    crashPoint: (name) => {
      if (name === 'asset.after-group-withdrawn') throw new Error('died')
    },
  })
  await t.rejects(dying.assets.deleteGroup(naming(groupId)), { message: 'died' })
  t.match(await codeOf(tasks.createTask(using(other))), /^asset_not_(?:active|found)$/)
  sandbox.faults.clear()
})

t.test('assets kept at two accounts cannot be used in one task', async (t) => {
  const [first] = world.channels.filter(
    ({ region, family }) => region === 'domestic' && family === 'video-a',
  )
  if (first === undefined) throw new Error('no channel')
  const other = world.replica({ channels: [{ ...first, id: 'another' }], policies: true })
  const both = world.replica({ channels: [...world.channels, { ...first, id: 'another' }] })
  const here = await activeAsset(library, await newGroup(library))
  const there = await activeAsset(other.assets, await newGroup(other.assets, placing()))
  const content = [here, there].map((id) => ({
    type: 'image_url',
    role: 'reference_image',
    image_url: { url: `asset://${id}` },
  }))
  const error = await both.tasks
    .createTask(createInput({ body: { content } }))
    .catch((thrown: unknown) => thrown)
  t.match(error, { code: 'invalid_request', details: { param: 'content' } })
  t.match(await both.tasks.createTask(using(there)), { nativeId: /./ }, 'alone it goes where it is')
})
