import {
  AccessDeniedError,
  DeadlineExceededError,
  EventStoreDBClient,
  NotLeaderError,
  START,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { type Client, Metadata } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { collect, numbered, numbersIn, refused, several } from '../../../contract/setup.ts'
import { startPretendedCluster } from '../../../helpers/cluster.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { follow, openBatch, rawClient } from './support/raw.ts'

const UNARY = { credentials: { username: 'u', password: 'p' } } as const
const LEADER_ONLY = { requiresLeader: true } as const
const SHORT_DEADLINE_MS = 500
const CALL_TIMEOUT_MS = 10_000

const cluster = await startPretendedCluster()
t.teardown(() => cluster.stop())
t.afterEach(async () => {
  await cluster.recover()
  await cluster.lead(0)
})

function clientOf(t: Test, url: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(url)
  t.teardown(() => client.dispose())
  return client
}

const memberClient = (t: Test, member: number): EventStoreDBClient =>
  clientOf(t, cluster.memberUrl(member))

const rawMember = (t: Test, member: number): Client =>
  rawClient(t, `127.0.0.1:${cluster.ports[member] ?? 0}`)

/** `state` and `dead` or `alive` of each member, as one of them tells. */
function gossipOf(client: Client): Promise<string[]> {
  const identity = (bytes: Buffer): Buffer => bytes
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      '/event_store.client.gossip.Gossip/Read',
      identity,
      (bytes: Buffer) => gossip.ClusterInfo.deserializeBinary(bytes),
      Buffer.from(new shared.Empty().serializeBinary()),
      new Metadata(),
      { deadline: Date.now() + CALL_TIMEOUT_MS },
      (error, answer) =>
        answer === undefined ? reject(error) : resolve(answer.getMembersList().map(memberWords)),
    )
  })
}

function memberWords(member: gossip.MemberInfo): string {
  const states = Object.entries(gossip.MemberInfo.VNodeState)
  const [state] = states.find(([, value]) => value === member.getState()) ?? []
  const port = member.getHttpEndPoint()?.getPort() ?? 0
  return `${cluster.ports.indexOf(port)} ${state} ${member.getIsAlive() ? 'alive' : 'dead'}`
}

t.test('every member reports all members, and the leader can change', async (t) => {
  for (const member of [0, 1, 2]) {
    const members = await gossipOf(rawMember(t, member))
    t.same(members, ['0 LEADER alive', '1 FOLLOWER alive', '2 FOLLOWER alive'])
  }
  await cluster.lead(2)
  const members = await gossipOf(rawMember(t, 0))
  t.same(members, ['0 FOLLOWER alive', '1 FOLLOWER alive', '2 LEADER alive'])
  await cluster.setStates('PRELEADER', 'UNKNOWN', 'CATCHINGUP')
  const changed = await gossipOf(rawMember(t, 1))
  t.same(changed, ['0 PRELEADER alive', '1 UNKNOWN alive', '2 CATCHINGUP alive'])
})

t.test('a client that knows all members finds the leader, and the next leader', async (t) => {
  const client = clientOf(t, cluster.url)
  await client.appendToStream('found', numbered(0), LEADER_ONLY)
  await cluster.lead(1)
  await refused(t, client.appendToStream('found', numbered(9), LEADER_ONLY), NotLeaderError)
  const again = () => client.appendToStream('found', numbered(1), LEADER_ONLY)
  await eventually('an append at the new leader', () => again().catch(() => undefined))
  t.same(await numbersIn(client, 'found'), [0, 1])
})

t.test('a follower names the leader for leader-only calls', async (t) => {
  const leader = { address: '127.0.0.1', port: cluster.ports[0] }
  for (const how of [LEADER_ONLY, { ...LEADER_ONLY, ...UNARY }]) {
    const error = await refused(
      t,
      memberClient(t, 1).appendToStream('follower', numbered(9), how),
      NotLeaderError,
    )
    t.same(error.leader, leader)
  }
  const reading = collect(memberClient(t, 1).readStream('follower', LEADER_ONLY))
  t.same((await refused(t, reading, NotLeaderError)).leader, leader)

  const client = memberClient(t, 1)
  await client.appendToStream('follower', numbered(0))
  await client.appendToStream('follower', numbered(1), UNARY)
  t.same(await numbersIn(client, 'follower'), [0, 1], 'the rest is forwarded')
})

t.test('a follower ends append calls, with the leader in its trailers', async (t) => {
  const batch = openBatch(rawMember(t, 0))
  batch.append('batch')
  t.same(await batch.hears(1), ['ok'])
  await cluster.lead(1)
  const trailers = new Promise<Record<string, unknown>>((resolve) => {
    batch.call.on('error', (error: { metadata?: Metadata }) =>
      resolve(error.metadata?.getMap() ?? {}),
    )
  })
  batch.append('batch')
  t.same(await batch.hears(2), ['ok', '!5 Leader info available'])
  t.match(await trailers, {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(cluster.ports[1]),
  })
})

t.test('a member that is not ready reports it on an open call', async (t) => {
  const batch = openBatch(rawMember(t, 0))
  await cluster.notReady()
  batch.append('unready')
  const words = 'error: Server Is Not Ready (0, google.protobuf.Empty)'
  t.same(await batch.hears(1), [words])
  const client = memberClient(t, 0)
  const appended = client.appendToStream('unready', numbered(9), UNARY)
  t.match((await refused(t, appended, UnavailableError)).message, /Server Is Not Ready/)
  await refused(t, client.appendToStream('unready', numbered(9)), UnknownError)
  await refused(t, collect(client.readAll()), UnavailableError)
  await cluster.recover()
  batch.append('unready')
  t.same(await batch.hears(2), [words, 'ok'])
})

t.test('without a leader appends are refused, and followers serve reads', async (t) => {
  const client = memberClient(t, 1)
  await client.appendToStream('leaderless', numbered(0))
  await cluster.nobodyLeads()
  const members = await gossipOf(rawMember(t, 2))
  t.same(members, ['0 UNKNOWN alive', '1 UNKNOWN alive', '2 UNKNOWN alive'])
  for (const how of [UNARY, { ...UNARY, ...LEADER_ONLY }]) {
    const appended = memberClient(t, 1).appendToStream('leaderless', numbered(9), how)
    await refused(t, appended, UnavailableError)
  }
  t.same(await numbersIn(memberClient(t, 1), 'leaderless'), [0])
  const reading = collect(memberClient(t, 1).readStream('leaderless', LEADER_ONLY))
  await refused(t, reading, UnavailableError)

  await cluster.setStates('FOLLOWER', 'FOLLOWER', 'FOLLOWER')
  const lost = memberClient(t, 1).appendToStream('leaderless', numbered(9), {
    ...UNARY,
    ...LEADER_ONLY,
  })
  t.match((await refused(t, lost, UnknownError)).message, /No leader info available/)
})

t.test('a dead member breaks and refuses connections, other members report it', async (t) => {
  const batch = openBatch(rawMember(t, 0))
  batch.append('dead')
  await batch.hears(1)
  const client = clientOf(t, cluster.url)
  await client.appendToStream('dead', numbered(1), LEADER_ONLY)
  await cluster.silence(0, 'refuse')
  t.match((await batch.hears(2)).at(-1), /^!14 /)
  const members = await gossipOf(rawMember(t, 1))
  t.same(members, ['0 LEADER dead', '1 FOLLOWER alive', '2 FOLLOWER alive'])
  const error = await refused(
    t,
    memberClient(t, 0).appendToStream('dead', numbered(9), UNARY),
    UnavailableError,
  )
  t.match(error.message, /ECONNREFUSED|No connection established/)
  await cluster.lead(1)
  const again = () => client.appendToStream('dead', numbered(2), LEADER_ONLY)
  await eventually('an append at the new leader', () => again().catch(() => undefined))
  await cluster.silence('all', 'refuse')
  await refused(t, memberClient(t, 1).appendToStream('dead', numbered(9), UNARY), UnavailableError)
  await cluster.recover()
  t.same((await numbersIn(memberClient(t, 0), 'dead')).slice(-2), [1, 2])
})

t.test('a frozen member accepts connections and answers once it thaws', async (t) => {
  const known = openBatch(rawMember(t, 0))
  known.append('frozen')
  await known.hears(1)
  await cluster.silence(0, 'freeze')
  known.append('frozen')
  const how = { ...UNARY, deadline: SHORT_DEADLINE_MS }
  // On a separate stream: whether it is done once the member thaws is a race with its cancellation.
  const appended = memberClient(t, 0).appendToStream('given up', numbered(9), how)
  await refused(t, appended, DeadlineExceededError)
  t.same(known.said, ['ok'])
  await cluster.lead(1)
  await cluster.recover()
  t.same(
    await known.hears(2),
    ['ok', '!5 Leader info available'],
    'the thawed one has followed since',
  )
  t.equal((await numbersIn(memberClient(t, 1), 'frozen')).length, 1)
})

for (const how of ['error', 'connection'] as const) {
  t.test(`a deposed leader ends its calls by ${how}, though it committed`, async (t) => {
    const batch = openBatch(rawMember(t, 0))
    const stream = `deposed-${how}`
    await cluster.loseAnswers()
    batch.append(stream)
    const committed = () => numbersIn(memberClient(t, 1), stream).catch(() => undefined)
    await eventually('the commit', committed)
    await cluster.depose(1, how)
    const said = await batch.hears(1)
    t.match(said[0], how === 'error' ? /^!14 Server Is Not Ready$/ : /^!14 /)
    t.equal((await numbersIn(memberClient(t, 1), stream)).length, 1)
    t.same((await gossipOf(rawMember(t, 0)))[1], '1 LEADER alive')
  })
}

t.test('an account that may not read $all gets an error, also while reading', async (t) => {
  const client = memberClient(t, 0)
  await client.appendToStream('rights', several(2))
  const open = follow(rawMember(t, 0), { from: 'end' })
  await open.hears('live')
  await cluster.deny('read_all')
  await open.hears('!7 Access Denied')
  await refused(t, collect(client.readAll({ fromPosition: START })), AccessDeniedError)
  await follow(rawMember(t, 0)).says(t, '!7 Access Denied')
  t.same(await numbersIn(client, 'rights'), [0, 1], 'streams it may read')
})

t.test('an account that may not append gets an error on both paths', async (t) => {
  await cluster.deny('append')
  const client = memberClient(t, 0)
  await refused(t, client.appendToStream('rights', numbered(9)), AccessDeniedError)
  await refused(t, client.appendToStream('rights', numbered(9), UNARY), AccessDeniedError)
  t.same(
    await collect(client.readAll({ fromPosition: START, maxCount: 1 })).then((all) => all.length),
    1,
  )
})

t.test('an unknown account gets an error from every call with credentials', async (t) => {
  await cluster.deny('authenticate')
  const batch = openBatch(rawMember(t, 0))
  t.same(await batch.hears(1), ['!16 Received HTTP status code 401'])
  await follow(rawMember(t, 0)).says(t, '!16 Received HTTP status code 401')
  const client = memberClient(t, 0)
  await refused(t, client.appendToStream('rights', numbered(9), UNARY), AccessDeniedError)
  await refused(t, client.appendToStream('rights', numbered(9)), AccessDeniedError)
  t.equal((await gossipOf(rawMember(t, 0))).length, 3)
})

t.test('the whole cluster can be killed and comes back with its log and ports', async (t) => {
  await memberClient(t, 0).appendToStream('killed', numbered(0))
  await cluster.kill9()
  const dead = memberClient(t, 1).appendToStream('killed', numbered(9), UNARY)
  await refused(t, dead, UnavailableError)
  await cluster.restart()
  const client = clientOf(t, cluster.url)
  await client.appendToStream('killed', numbered(1), LEADER_ONLY)
  t.same(await numbersIn(client, 'killed'), [0, 1])
})

t.test('invalid commands are refused, and the cluster goes on', async (t) => {
  await t.rejects(cluster.lead(7), /no member 7/)
  await t.rejects(cluster.setFault('nonsense:1'), /unknown fault/)
  t.equal((await gossipOf(rawMember(t, 0))).length, 3)
})
