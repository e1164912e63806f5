import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import {
  Client,
  credentials,
  makeClientConstructor,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { START, streamNameFilter } from '@eventstore/db-client'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import t from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { numbered, numbersIn, several } from '../../../contract/setup.ts'

const BACKWARDS = streams.ReadReq.Options.ReadDirection.BACKWARDS
const FUZZ_CALLS = 300
/** A call without an answer by then is never answered, however busy the machine is. */
const CALL_TIMEOUT_MS = 120_000

const server = await startEmbeddedServer({ port: 0 })
const client = openClient(server.url)
const raw = new Client(server.address, credentials.createInsecure())
t.teardown(async () => {
  raw.close()
  await client.dispose()
  await server.stop()
})

const identity = (bytes: Buffer): Buffer => bytes
const deadline = () => ({ deadline: Date.now() + CALL_TIMEOUT_MS })

/** Sends bytes as the one message of a call; resolves with its error, or undefined. */
function sendBytes(path: string, bytes: Buffer): Promise<ServiceError | undefined> {
  return new Promise((resolve) => {
    const call = raw.makeBidiStreamRequest(path, identity, identity, new Metadata(), deadline())
    call.on('data', () => undefined)
    call.on('error', (error: ServiceError) => resolve(error))
    call.on('end', () => resolve(undefined))
    call.write(bytes)
    call.end()
  })
}

/** Sends a read and resolves with its first answer, or its error. */
function read(options: streams.ReadReq.Options): Promise<streams.ReadResp | ServiceError> {
  const request = Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary())
  return new Promise((resolve, reject) => {
    const call = raw.makeServerStreamRequest(
      '/event_store.client.streams.Streams/Read',
      identity,
      (bytes: Buffer) => streams.ReadResp.deserializeBinary(bytes),
      request,
      new Metadata(),
      deadline(),
    )
    call.on('data', (response: streams.ReadResp) => {
      resolve(response)
      call.cancel()
    })
    call.on('error', resolve)
    call.on('end', () => reject(new Error('the read ended without an answer')))
  })
}

function ofStream(stream: string): streams.ReadReq.Options {
  const target = new streams.ReadReq.Options.StreamOptions()
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))
    .setStart(new shared.Empty())
  return new streams.ReadReq.Options().setStream(target).setNoFilter(new shared.Empty())
}

function ofAll(): streams.ReadReq.Options {
  const target = new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty())
  return new streams.ReadReq.Options().setAll(target)
}

t.test('the server is found by gossip as the only leader of its cluster', async (t) => {
  const bytes = Buffer.from(new shared.Empty().serializeBinary())
  const cluster = await new Promise<gossip.ClusterInfo>((resolve, reject) => {
    raw.makeUnaryRequest(
      '/event_store.client.gossip.Gossip/Read',
      identity,
      (answer: Buffer) => gossip.ClusterInfo.deserializeBinary(answer),
      bytes,
      new Metadata(),
      deadline(),
      (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
    )
  })
  const [member, ...others] = cluster.getMembersList()
  t.same(others, [])
  t.equal(member?.getState(), gossip.MemberInfo.VNodeState.LEADER)
  t.equal(member?.getIsAlive(), true)
  const host = server.address
  t.equal(member?.getHttpEndPoint()?.getPort(), Number(host.split(':')[1]))

  const clustered = openClient(`esdb://${host},${host}?tls=false`)
  t.teardown(() => clustered.dispose())
  await clustered.appendToStream('by-gossip', numbered(1))
  t.same(await numbersIn(clustered, 'by-gossip'), [1])
})

t.test('every unsupported call is UNIMPLEMENTED, by name', async (t) => {
  const require = createRequire(import.meta.url)
  const modules = ['persistent', 'projections', 'operations', 'users', 'monitoring']
  let called = 0
  for (const name of modules) {
    const module = require(`@eventstore/db-client/generated/${name}_grpc_pb.js`) as Record<
      string,
      ServiceDefinition
    >
    const services = Object.entries(module).filter(([key]) => key.endsWith('Service'))
    for (const [, service] of services) {
      t.ok(makeClientConstructor(service, name))
      for (const { path } of Object.values(service)) {
        const error = await sendBytes(path, Buffer.alloc(0))
        t.equal(error?.code, status.UNIMPLEMENTED)
        t.ok(error?.details.includes(path), `${path} is named`)
        called += 1
      }
    }
  }
  t.ok(called > 20, `${called} calls were tried`)
})

t.test('stream metadata without an effect is UNIMPLEMENTED, by name', async (t) => {
  for (const metadata of [{ maxCount: 1 }, { maxAge: 60 }, { acl: { readRoles: ['x'] } }]) {
    const error = await client
      .setStreamMetadata('limited', metadata, { credentials: { username: 'u', password: 'p' } })
      .then(() => undefined)
      .catch((error: unknown) => error)
    t.match(error, { code: status.UNIMPLEMENTED, message: /stream metadata \$(max|acl)/ })
  }
  await client.appendToStream('truncated', several(5))
  await client.setStreamMetadata('truncated', { truncateBefore: 3, owner: 'finance' })
  t.same(await numbersIn(client, 'truncated'), [3, 4], 'truncation it does honour')
  t.match(await client.getStreamMetadata('truncated'), { metadata: { owner: 'finance' } })
})

t.test('a client that requests ids as integers gets them', async (t) => {
  const event = numbered(7)
  await client.appendToStream('structured', event)
  const uuidOption = new streams.ReadReq.Options.UUIDOption().setStructured(new shared.Empty())
  const answer = await read(ofStream('structured').setCount('1').setUuidOption(uuidOption))
  if (answer instanceof Error) throw answer
  const resolved = answer.getEvent()
  const record = resolved?.getEvent()
  const id = record?.getId()?.getStructured()
  const hex = (signed: string | undefined) =>
    BigInt.asUintN(64, BigInt(signed ?? 0))
      .toString(16)
      .padStart(16, '0')
  t.equal(
    hex(id?.getMostSignificantBits()) + hex(id?.getLeastSignificantBits()),
    event.id.replaceAll('-', ''),
  )
  t.equal(Buffer.from(record?.getData_asU8() ?? []).toString(), '{"n":7}')
  t.equal(resolved?.getCommitPosition(), record?.getCommitPosition())
})

t.test('invalid requests are INVALID_ARGUMENT', async (t) => {
  const filterOf = (regex: string, max = 32) =>
    new streams.ReadReq.Options.FilterOptions()
      .setStreamIdentifier(new streams.ReadReq.Options.FilterOptions.Expression().setRegex(regex))
      .setMax(max)
  const subscription = new streams.ReadReq.Options.SubscriptionOptions()
  const cases: readonly [string, streams.ReadReq.Options][] = [
    ['nothing to read', new streams.ReadReq.Options().setCount('1')],
    ['a stream without a name', ofStream('').setCount('1')],
    ['a stream name beyond the limit', ofStream('x'.repeat(10_000)).setCount('1')],
    ['neither count nor subscription', ofStream('x')],
    [
      'a subscription backwards',
      ofStream('x').setSubscription(subscription).setReadDirection(BACKWARDS),
    ],
    ['an expression that is none', ofAll().setSubscription(subscription).setFilter(filterOf('('))],
    [
      'an endless expression',
      ofAll()
        .setCount('1')
        .setFilter(filterOf('x'.repeat(5_000))),
    ],
    ['no search window', ofAll().setSubscription(subscription).setFilter(filterOf('x', 0))],
    [
      'a filter on nothing',
      ofAll().setCount('1').setFilter(new streams.ReadReq.Options.FilterOptions()),
    ],
  ]
  for (const [what, options] of cases) {
    const answer = await read(options)
    t.equal((answer as ServiceError).code, status.INVALID_ARGUMENT, what)
  }

  const append = '/event_store.client.streams.Streams/Append'
  const options = new streams.AppendReq.Options()
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('bad')))
    .setAny(new shared.Empty())
  const withoutRevision = options.clone()
  withoutRevision.clearAny()
  const message = new streams.AppendReq.ProposedMessage()
  const bodies: readonly [string, streams.AppendReq[]][] = [
    ['no options', []],
    ['an event first', [new streams.AppendReq().setProposedMessage(message)]],
    ['no expected revision', [new streams.AppendReq().setOptions(withoutRevision)]],
    [
      'an event without an id',
      [
        new streams.AppendReq().setOptions(options),
        new streams.AppendReq().setProposedMessage(message),
      ],
    ],
    [
      'an event whose id is no UUID',
      [
        new streams.AppendReq().setOptions(options),
        new streams.AppendReq().setProposedMessage(
          message.clone().setId(new shared.UUID().setString('not-a-uuid')),
        ),
      ],
    ],
    [
      'an event without a type',
      [
        new streams.AppendReq().setOptions(options),
        new streams.AppendReq().setProposedMessage(
          message
            .clone()
            .setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001')),
        ),
      ],
    ],
  ]
  for (const [what, requests] of bodies) {
    const error = await new Promise<ServiceError | null>((resolve) => {
      const call = raw.makeClientStreamRequest(
        append,
        identity,
        identity,
        new Metadata(),
        deadline(),
        (error) => resolve(error),
      )
      for (const request of requests) call.write(Buffer.from(request.serializeBinary()))
      call.end()
    })
    t.equal(error?.code, status.INVALID_ARGUMENT, what)
  }
})

t.test('bytes that are no message are refused, and the server goes on', async (t) => {
  const paths = ['Append', 'BatchAppend', 'Read', 'Delete', 'Tombstone'].map(
    (method) => `/event_store.client.streams.Streams/${method}`,
  )
  const valid = Buffer.from(
    new streams.ReadReq().setOptions(ofStream('x').setCount('1')).serializeBinary(),
  )
  const calls = Array.from({ length: FUZZ_CALLS }, (_, index) => {
    const bytes = index % 2 === 0 ? randomBytes(index % 97) : Buffer.from(valid)
    if (index % 2 === 1) bytes[index % bytes.length] = index % 251
    return sendBytes(paths[index % paths.length] ?? '', bytes)
  })
  const outcomes = await Promise.all(calls)
  const codes = new Set(outcomes.map((error) => error?.code ?? status.OK))
  t.notOk(codes.has(status.DEADLINE_EXCEEDED), 'every one is answered')
  t.ok(codes.size > 1, `answered with ${[...codes].map((code) => status[code]).join(', ')}`)
  t.equal(server.process.exitCode, null)

  await client.appendToStream('after-fuzz', several(2))
  const subscription = client.subscribeToAll({
    fromPosition: START,
    filter: streamNameFilter({ prefixes: ['after-fuzz'] }),
  })
  for await (const { event } of subscription) if (event?.revision === 1n) break
  t.same(await numbersIn(client, 'after-fuzz'), [0, 1])
})
