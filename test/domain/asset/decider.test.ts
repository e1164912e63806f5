import t from 'tap'
import { assetDecider, canBeDeleted, isOwn, ownAsset } from '../../../src/domain/asset/decider.ts'
import { assetStream } from '../../../src/domain/asset/events.ts'
import {
  accept,
  active,
  actor,
  after,
  assetId,
  at,
  confirmDeleted,
  create,
  created,
  createGeneral,
  deleted,
  fault,
  find,
  given,
  refuse,
  rename,
  seeActive,
  seeFailed,
  use,
  withdraw,
  withdrawn,
} from './assets.ts'

const { at: _, ...by } = actor()
const another = actor({ userId: 'user_2' })
const foreign = actor({ tenantId: 'tenant_2' })
const notFound = { code: 'asset_not_found', message: 'the asset does not exist', details: {} }

t.test('an asset is created once, and an id is never used again', (t) => {
  t.strictSame(after().when(create), [{ type: 'AssetCreated', data: created }])
  for (const past of [[create], active, withdrawn, deleted, [create, refuse]])
    t.strictSame(after(...past).when(create), [])
  t.equal(assetStream(assetId), `asset-${assetId}`)
  t.end()
})

t.test('an acceptance records the upstream id, from the answer or from a list', (t) => {
  t.strictSame(after(create).when(accept), [
    {
      type: 'AssetAccepted',
      data: { assetId, nativeId: 'n-1', learntFrom: 'answer', acceptedAt: at },
    },
  ])
  t.match(after(create).when(find), [{ data: { learntFrom: 'list' } }])
  t.match(given(create, accept), { phase: 'processing', nativeId: 'n-1' })
  t.end()
})

t.test('an asset withdrawn before its upstream id was known is still found', (t) => {
  t.match(after(create, withdraw()).when(find), [{ type: 'AssetAccepted' }])
  t.match(given(create, withdraw(), find), { phase: 'withdrawn', nativeId: 'n-1' })
  t.strictSame(after(create, withdraw(), find).when(find), [], 'once')
  t.strictSame(after(...withdrawn).when(find), [])
  t.end()
})

t.test('the outcome of an asset is recorded once', (t) => {
  t.strictSame(after(create, accept).when(seeActive), [
    { type: 'AssetActivated', data: { assetId, activatedAt: at } },
  ])
  t.strictSame(after(create, accept).when(seeFailed), [
    { type: 'AssetFailed', data: { assetId, ...fault, failedAt: at } },
  ])
  t.match(given(create, accept, seeFailed), { phase: 'failed', error: fault })
  t.strictSame(after(create).when(refuse), [
    { type: 'AssetRefused', data: { assetId, ...fault, refusedAt: at } },
  ])
  t.match(given(create, refuse), { phase: 'refused', nativeId: undefined, error: fault })
  t.end()
})

t.test('late or repeated observations decide to no event', (t) => {
  const late = [accept, find, refuse, seeActive, seeFailed, confirmDeleted]
  for (const past of [[], active, [create, accept, seeFailed], [create, refuse], deleted])
    for (const command of late)
      t.strictSame(after(...past).when(command), [], `${past.length} ${command.kind}`)
  for (const command of [seeActive, seeFailed])
    t.strictSame(
      after(create).when(command),
      [],
      'an asset that upstream never accepted is not visible',
    )
  t.strictSame(after(create, accept).when(refuse), [])
  for (const command of [seeActive, seeFailed, refuse])
    t.strictSame(after(...withdrawn).when(command), [])
  t.end()
})

t.test('the use of an asset of a person is recorded, of the general library it is not', (t) => {
  t.strictSame(after(...active).when(use()), [
    { type: 'AssetUsed', data: { assetId, requestId: 'req_1', usedAt: at } },
  ])
  t.match(after(...active, use()).when(use()), [{ type: 'AssetUsed' }], 'each time')
  t.strictSame(after(createGeneral, accept, seeActive).when(use()), [])
  t.ok(canBeDeleted('LivenessFace'))
  t.notOk(canBeDeleted('AIGC'))
  t.end()
})

t.test('only an active asset can be used', (t) => {
  const pasts = [
    [create],
    [create, accept],
    [create, accept, seeFailed],
    [create, refuse],
    withdrawn,
  ] as const
  for (const past of pasts)
    t.throws(() => after(...past).when(use()), { code: 'asset_not_active', details: { assetId } })
  t.throws(() => after(createGeneral, accept).when(use()), { code: 'asset_not_active' })
  t.throws(() => after(...deleted).when(use()), notFound)
  t.end()
})

t.test('of a use and a withdrawal the first in the stream wins', (t) => {
  t.match(after(...active, use()).when(withdraw()), [{ type: 'AssetWithdrawn' }])
  t.throws(() => after(...active, withdraw()).when(use()), { code: 'asset_not_active' })
  t.end()
})

t.test('an asset is withdrawn once, from any state, then deleted once', (t) => {
  for (const past of [[create], [create, accept], active, [create, accept, seeFailed]])
    t.strictSame(after(...past).when(withdraw()), [
      { type: 'AssetWithdrawn', data: { assetId, ...by, withdrawnAt: at } },
    ])
  t.strictSame(after(...withdrawn).when(withdraw()), [], 'asked for again it goes on')
  t.strictSame(after(...withdrawn).when(confirmDeleted), [
    { type: 'AssetDeleted', data: { assetId, deletedAt: at } },
  ])
  t.strictSame(after(...active).when(confirmDeleted), [])
  t.throws(() => after(...deleted).when(withdraw()), notFound)
  t.end()
})

t.test('an asset is renamed when its name changes, and not after its withdrawal', (t) => {
  t.strictSame(after(...active).when(rename()), [
    { type: 'AssetUpdated', data: { assetId, ...by, name: 'hero-left', updatedAt: at } },
  ])
  t.strictSame(after(...active, rename()).when(rename()), [])
  t.strictSame(after(...active).when(rename('hero-front')), [])
  t.strictSame(after(...withdrawn).when(rename()), [])
  t.equal(given(...active, rename()).phase, 'active')
  t.throws(() => after(...deleted).when(rename()), notFound)
  t.end()
})

t.test('an asset of a person is answered as unknown to other users', (t) => {
  for (const by of [another, foreign])
    for (const command of [use(by), withdraw(by), rename('x', by)]) {
      t.throws(() => after(...active).when(command), notFound, command.kind)
      t.throws(() => after().when(command), notFound)
    }
  t.throws(() => ownAsset(given(...active), another), notFound)
  t.throws(() => ownAsset(given(...deleted), actor()), notFound)
  t.equal(ownAsset(given(...active), actor()).phase, 'active')
  t.end()
})

t.test('an asset of the general library is visible to every user of its tenant', (t) => {
  const general = [createGeneral, accept, seeActive]
  t.equal(ownAsset(given(...general), another).phase, 'active')
  t.doesNotThrow(() => after(...general).when(use(another)))
  t.throws(() => after(...general).when(use(foreign)), notFound)
  t.ok(isOwn({ ...created, groupType: 'AIGC' }, another))
  t.notOk(isOwn(created, another))
  t.notOk(isOwn({ ...created, groupType: 'AIGC' }, { ...foreign, userId: created.userId }))
  t.end()
})

t.test('an event without a creation leaves the state unchanged', (t) => {
  const [event] = after(create).when(accept)
  t.ok(event)
  if (event) t.strictSame(assetDecider.evolve(assetDecider.initial, event), assetDecider.initial)
  t.end()
})
