import t from 'tap'
import {
  assetGroupDecider,
  ownGroup,
  type AssetGroupCommand,
  type AssetGroupState,
} from '../../../src/domain/asset-group/decider.ts'
import {
  assetGroupStream,
  type AssetGroupEvent,
  type AssetGroupEventData,
} from '../../../src/domain/asset-group/events.ts'
import { actor, at, fault, groupId } from '../asset/assets.ts'

const group = {
  groupId,
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  requestId: 'req_0',
  region: 'domestic',
  projectName: 'default',
  channelId: 'video-a-1',
  groupType: 'LivenessFace',
  name: 'Ada',
  description: 'the lead actor',
  verificationId: 'v1',
  createdAt: '2026-01-02T03:04:05.000Z',
} as const satisfies AssetGroupEventData<'AssetGroupCreated'>

const createPerson: AssetGroupCommand = { kind: 'create', group, nativeId: 'n-1' }
const { verificationId: _, ...general } = { ...group, groupType: 'AIGC' } as const
const create: AssetGroupCommand = { kind: 'create', group: general }
const accept: AssetGroupCommand = { kind: 'accept', nativeId: 'n-1', learntFrom: 'answer', at }
const refuse: AssetGroupCommand = { kind: 'refuse', fault, at }
const confirmDeleted: AssetGroupCommand = { kind: 'confirmDeleted', at }
const withdraw = (by = actor()): AssetGroupCommand => ({ kind: 'withdraw', by })
const update = (
  words: { readonly name?: string; readonly description?: string },
  by = actor(),
): AssetGroupCommand => ({ kind: 'update', by, name: words.name, description: words.description })

const { at: _at, ...by } = actor()
const another = actor({ userId: 'user_2' })
const foreign = actor({ tenantId: 'tenant_2' })
const notFound = {
  code: 'asset_group_not_found',
  message: 'the asset group does not exist',
  details: {},
}

function given(...commands: readonly AssetGroupCommand[]): AssetGroupState {
  return commands.reduce<AssetGroupState>(
    (state, command) =>
      assetGroupDecider.decide(command, state).reduce(assetGroupDecider.evolve, state),
    assetGroupDecider.initial,
  )
}

function after(...commands: readonly AssetGroupCommand[]) {
  const state = given(...commands)
  return {
    when: (command: AssetGroupCommand): readonly AssetGroupEvent[] =>
      assetGroupDecider.decide(command, state),
  }
}

t.test('a group is created before upstream is asked, and accepted once', (t) => {
  t.strictSame(after().when(create), [{ type: 'AssetGroupCreated', data: general }])
  t.strictSame(after(create).when(accept), [
    {
      type: 'AssetGroupAccepted',
      data: { groupId, nativeId: 'n-1', learntFrom: 'answer', acceptedAt: at },
    },
  ])
  t.match(given(create, accept), { phase: 'accepted', nativeId: 'n-1' })
  for (const command of [create, accept, refuse, confirmDeleted])
    t.strictSame(after(create, accept).when(command), [], command.kind)
  t.equal(assetGroupStream(groupId), `assetgroup-${groupId}`)
  t.end()
})

t.test('the group of a person is created and accepted in one append', (t) => {
  t.strictSame(after().when(createPerson), [
    { type: 'AssetGroupCreated', data: group },
    {
      type: 'AssetGroupAccepted',
      data: { groupId, nativeId: 'n-1', learntFrom: 'answer', acceptedAt: group.createdAt },
    },
  ])
  t.strictSame(after(createPerson).when(createPerson), [], 'asked for again it is there')
  t.end()
})

t.test('a group that upstream refused is answered as unknown', (t) => {
  t.strictSame(after(create).when(refuse), [
    { type: 'AssetGroupRefused', data: { groupId, ...fault, refusedAt: at } },
  ])
  for (const command of [accept, refuse, create, confirmDeleted])
    t.strictSame(after(create, refuse).when(command), [], command.kind)
  for (const command of [withdraw(), update({ name: 'x' })])
    t.throws(() => after(create, refuse).when(command), notFound)
  t.throws(() => ownGroup(given(create, refuse), actor()), notFound)
  t.end()
})

t.test('an update keeps the members that it does not name', (t) => {
  const updated = (name: string, description: string) => [
    { type: 'AssetGroupUpdated', data: { groupId, ...by, name, description, updatedAt: at } },
  ]
  const person = after(createPerson)
  t.strictSame(person.when(update({ name: 'Eve' })), updated('Eve', 'the lead actor'))
  t.strictSame(person.when(update({ description: '' })), updated('Ada', ''))
  t.strictSame(person.when(update({})), [])
  t.strictSame(person.when(update({ name: 'Ada', description: 'the lead actor' })), [])
  t.match(given(createPerson, update({ name: 'Eve' })), { phase: 'accepted', name: 'Eve' })
  t.strictSame(after(createPerson, withdraw()).when(update({ name: 'Eve' })), [])
  t.end()
})

t.test('a group is withdrawn once and deleted once, and no event follows', (t) => {
  t.strictSame(after(createPerson).when(withdraw()), [
    { type: 'AssetGroupWithdrawn', data: { groupId, ...by, withdrawnAt: at } },
  ])
  t.strictSame(after(createPerson, withdraw()).when(withdraw()), [])
  t.strictSame(after(createPerson).when(confirmDeleted), [])
  t.strictSame(after(createPerson, withdraw()).when(confirmDeleted), [
    { type: 'AssetGroupDeleted', data: { groupId, deletedAt: at } },
  ])
  const deleted = after(createPerson, withdraw(), confirmDeleted)
  for (const command of [createPerson, accept, refuse, confirmDeleted])
    t.strictSame(deleted.when(command), [], command.kind)
  for (const command of [withdraw(), update({ name: 'x' })])
    t.throws(() => deleted.when(command), notFound)
  t.end()
})

t.test('a group of a person is its user’s, a general one every user’s of the tenant', (t) => {
  for (const by of [another, foreign])
    for (const command of [withdraw(by), update({ name: 'x' }, by)]) {
      t.throws(() => after(createPerson).when(command), notFound)
      t.throws(() => after().when(command), notFound)
    }
  t.throws(() => ownGroup(given(createPerson), another), notFound)
  t.equal(ownGroup(given(create), another).phase, 'created')
  t.equal(ownGroup(given(create, accept), another).phase, 'accepted')
  t.throws(() => ownGroup(given(create, accept), foreign), notFound)
  t.equal(ownGroup(given(createPerson, withdraw()), actor()).phase, 'withdrawn')
  t.end()
})
