import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  Client as GrpcClient,
  type ClientReadableStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js'
import { jsonEvent } from '@eventstore/db-client'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import t from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import { MAX_QUEUED_APPENDS } from '../../../../infra/embedded/eventstore/limits.ts'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import { LogError, type StreamCommand } from '../../../../infra/embedded/eventstore/types.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { collect, numbered, numberOf, numbersIn, several } from '../../../contract/setup.ts'

const READERS = 10
const FILL_APPENDS = 60
const FILL_BYTES = 500_000
const MAX_GROWTH_KIB = 90 * 1024
const BULK_APPENDS = 20
const BULK_EVENTS = 1_000
const BULK_EVENT_BYTES = 500
const BULK_READS = 12
const WAIT_MS = 500
const FAULT_DELAY_MS = 400
const SHORT_DEADLINE_MS = 300
const CREDENTIALS = { username: 'unary', password: 'unary' }

const run = promisify(execFile)

async function residentKib(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout)
}

function command(n: number, isAbandoned: () => boolean = () => false): StreamCommand {
  return {
    kind: 'append',
    stream: `queued-${n}`,
    expected: { kind: 'no_stream' },
    events: [
      {
        id: randomUUID(),
        type: 'Queued',
        isJson: true,
        data: Buffer.from(`{"n":${n}}`),
        metadata: Buffer.alloc(0),
      },
    ],
    sizeBytes: 20,
    isAbandoned,
  }
}

function allFromStart(): streams.ReadReq.Options {
  return new streams.ReadReq.Options()
    .setAll(new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty()))
    .setNoFilter(new shared.Empty())
}

/** A read whose messages are not decoded. */
function openRead(raw: GrpcClient, options: streams.ReadReq.Options): ClientReadableStream<Buffer> {
  const request = Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary())
  const identity = (bytes: Buffer): Buffer => bytes
  const path = '/event_store.client.streams.Streams/Read'
  return raw.makeServerStreamRequest(path, identity, identity, request, new Metadata())
}

t.test('appends beyond the queue are refused, queued ones are written', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'tollgate-bounds-'))
  const log = await ServerLog.open(dir)
  t.teardown(async () => {
    await log.close()
    await rm(dir, { recursive: true, force: true })
  })
  const extra = 50
  const results = await Promise.allSettled(
    Array.from({ length: MAX_QUEUED_APPENDS + extra }, (_, n) => log.submit(command(n))),
  )
  const refused = results.filter((result) => result.status === 'rejected')
  t.equal(refused.length, extra)
  for (const { reason } of refused) {
    if (!(reason instanceof LogError) || reason.code !== 'queue_full') t.fail('another error')
  }
  t.equal(log.lastPosition, MAX_QUEUED_APPENDS, 'positions have no gap')

  const abandoned = await log.submit(command(-1, () => true)).catch((error: unknown) => error)
  t.match(abandoned, { code: 'abandoned' }, 'a command without a waiting caller is not written')
  t.equal(log.lastPosition, MAX_QUEUED_APPENDS)
})

t.test('readers that do not read cost the server little memory', async (t) => {
  const server = await startEmbeddedServer()
  const client = openClient(server.url)
  const raw = new GrpcClient(server.address, credentials.createInsecure())
  t.teardown(async () => {
    raw.close()
    await client.dispose()
    await server.stop()
  })
  for (let n = 0; n < FILL_APPENDS; n += 1) {
    const event = jsonEvent({ type: 'Big', data: { x: 'x'.repeat(FILL_BYTES) } })
    await client.appendToStream('big', event)
  }
  const before = await residentKib(server.pid)
  const options = allFromStart().setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  const calls = Array.from({ length: READERS }, () => {
    const call = openRead(raw, options)
    call.on('error', () => undefined)
    return call.pause()
  })
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
  const grown = (await residentKib(server.pid)) - before
  const wanted = (READERS * FILL_APPENDS * FILL_BYTES) / 1024
  t.ok(grown < MAX_GROWTH_KIB, `grew by ${grown} KiB with ${wanted} KiB wanted of it`)
  await client.appendToStream('small', numbered(1))
  t.same(await numbersIn(client, 'small'), [1], 'others are served')
  for (const call of calls) call.cancel()
})

t.test('reading the log repeatedly leaks no memory', async (t) => {
  const server = await startEmbeddedServer()
  const client = openClient(server.url)
  const raw = new GrpcClient(server.address, credentials.createInsecure())
  t.teardown(async () => {
    raw.close()
    await client.dispose()
    await server.stop()
  })
  const text = 'x'.repeat(BULK_EVENT_BYTES)
  for (let n = 0; n < BULK_APPENDS; n += 1) {
    const events = Array.from({ length: BULK_EVENTS }, () =>
      jsonEvent({ type: 'Bulk', data: { text } }),
    )
    await client.appendToStream(`bulk-${n}`, events)
  }
  const options = allFromStart().setCount(String(BULK_APPENDS * BULK_EVENTS))
  const readAll = async (): Promise<void> => {
    const messages = await collect<Buffer>(openRead(raw, options))
    if (messages.length !== BULK_APPENDS * BULK_EVENTS) t.fail(`read ${messages.length} events`)
  }
  await readAll()
  const before = await residentKib(server.pid)
  for (let n = 0; n < BULK_READS; n += 1) await readAll()
  const grown = (await residentKib(server.pid)) - before
  const read = (BULK_READS * BULK_APPENDS * BULK_EVENTS * BULK_EVENT_BYTES) / 1024
  t.ok(grown < MAX_GROWTH_KIB, `grew by ${grown} KiB over reading ${read} KiB`)
})

t.test('a slow event store answers late and correctly', async (t) => {
  const server = await startEmbeddedServer({ fault: `delay-append-ms:${FAULT_DELAY_MS}` })
  const client = openClient(server.url)
  t.teardown(async () => {
    await client.dispose()
    await server.stop()
  })
  const started = performance.now()
  await client.appendToStream('slow', numbered(0), { credentials: CREDENTIALS })
  t.ok(performance.now() - started >= FAULT_DELAY_MS - 20)
  const late = await client
    .appendToStream('slow', numbered(1), { credentials: CREDENTIALS, deadline: SHORT_DEADLINE_MS })
    .catch((error: unknown) => error)
  t.match(late, { type: 'deadline-exceeded' })
  await server.setFault('')
  await client.appendToStream('slow', numbered(2), { credentials: CREDENTIALS })
  t.same(await numbersIn(client, 'slow'), [0, 2], 'an append given up on in time is not written')
})

t.test('a lost acknowledgement is settled by repeating the append', async (t) => {
  const server = await startEmbeddedServer({ fault: 'lose-ack-every:2' })
  const client = openClient(server.url)
  t.teardown(async () => {
    await client.dispose()
    await server.stop()
  })
  let lost = 0
  for (let n = 0; n < 6; n += 2) {
    const events = several(2, n)
    const expectedRevision = n === 0 ? 'no_stream' : BigInt(n - 1)
    const send = () =>
      client.appendToStream('lossy', events, {
        expectedRevision,
        credentials: CREDENTIALS,
        deadline: SHORT_DEADLINE_MS,
      })
    // On a busy machine an answer may come too late as well, and the one to its repetition is lost.
    const result = await eventually('an answer', () =>
      send().catch((error: { type: string }) => {
        t.equal(error.type, 'deadline-exceeded')
        lost += 1
        return undefined
      }),
    )
    t.equal(result.nextExpectedRevision, BigInt(n + 1))
  }
  t.ok(lost > 0, `${lost} acknowledgements were lost`)
  t.same((await collect(client.readStream('lossy'))).map(numberOf), [0, 1, 2, 3, 4, 5])
})
