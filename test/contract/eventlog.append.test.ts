import { randomUUID } from 'node:crypto'
import {
  type AppendExpectedRevision,
  binaryEvent,
  jsonEvent,
  MaxAppendSizeExceededError,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import t from 'tap'
import {
  APPEND_PATHS,
  collect,
  onEveryServer,
  numbered,
  numbersIn,
  several,
  refused,
} from './setup.ts'

const MAX_APPEND_BYTES = 1024 * 1024

await onEveryServer(t, async (t, log) => {
  /** What is wrong to expect of a stream with `events` events, and what the error says. */
  const WRONG: readonly {
    readonly events: number
    readonly expected: AppendExpectedRevision
    readonly actual: bigint | 'no_stream'
  }[] = [
    { events: 0, expected: 0n, actual: 'no_stream' },
    { events: 0, expected: 7n, actual: 'no_stream' },
    { events: 0, expected: 'stream_exists', actual: 'no_stream' },
    { events: 2, expected: 'no_stream', actual: 1n },
    { events: 2, expected: 0n, actual: 1n },
    { events: 2, expected: 2n, actual: 1n },
    { events: 2, expected: 9007199254740993n, actual: 1n },
  ]

  for (const path of APPEND_PATHS) {
    t.test(`${path}: an append with an expected revision that holds is accepted`, async (t) => {
      const stream = log.stream()
      const first = await log.append(path, stream, several(2), 'no_stream')
      t.equal(first.nextExpectedRevision, 1n)
      const exact = await log.append(path, stream, several(3, 2), 1n)
      t.equal(exact.nextExpectedRevision, 4n)
      const any = await log.append(path, stream, numbered(5), 'any')
      t.equal(any.nextExpectedRevision, 5n)
      const exists = await log.append(path, stream, numbered(6), 'stream_exists')
      t.equal(exists.nextExpectedRevision, 6n)
      t.same(await numbersIn(log.client, stream), [0, 1, 2, 3, 4, 5, 6])

      const fresh = await log.append(path, log.stream(), numbered(0), 'any')
      t.equal(fresh.nextExpectedRevision, 0n, 'any also creates a stream')
    })

    for (const { events, expected, actual } of WRONG) {
      t.test(`${path}: expecting ${expected} of a stream of ${events} is refused`, async (t) => {
        const stream = log.stream()
        if (events > 0) await log.append(path, stream, several(events), 'no_stream')
        const error = await refused(
          t,
          log.append(path, stream, numbered(99), expected),
          WrongExpectedVersionError,
        )
        t.equal(error.actualVersion, actual)
        t.equal(error.expectedVersion, expected)
        t.equal(error.streamName, stream)
        const left = events === 0 ? [] : await numbersIn(log.client, stream)
        t.equal(left.length, events, 'nothing was written')
      })
    }

    t.test(`${path}: of many writers expecting one revision exactly one wins`, async (t) => {
      const stream = log.stream()
      await log.append(path, stream, numbered(0), 'no_stream')
      const writers = Array.from({ length: 20 }, (_, index) =>
        log.append(path, stream, numbered(index + 1), 0n),
      )
      const results = await Promise.allSettled(writers)
      t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const result of results) {
        if (result.status === 'rejected') t.ok(result.reason instanceof WrongExpectedVersionError)
      }
      t.equal((await numbersIn(log.client, stream)).length, 2)
    })

    t.test(`${path}: positions rise with every append, commit equals prepare`, async (t) => {
      const stream = log.stream()
      let before = -1n
      for (let n = 0; n < 5; n += 1) {
        const { position } = await log.append(path, stream, several(3, n * 3))
        if (position === undefined) return t.fail('a new append has a position')
        t.equal(position.commit, position.prepare)
        t.ok(position.commit > before)
        before = position.commit
      }
      const positions = (await collect(log.client.readStream(stream))).map(
        ({ event }) => event?.position?.commit ?? -1n,
      )
      t.equal(positions.at(-1), before, 'the last event is where its append said')
      t.same(
        positions,
        positions.toSorted((a, b) => (a < b ? -1 : 1)),
        'in stream order positions rise',
      )
      t.equal(new Set(positions).size, 15)
    })

    t.test(`${path}: an event is read back as it was written`, async (t) => {
      const stream = log.stream('ümlaut 流')
      const id = randomUUID()
      const data = { text: 'Grüße 流 \u0000 "quoted"', nested: { list: [1, null, true] } }
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const before = Date.now()
      await log.append(
        path,
        stream,
        [
          jsonEvent({ id, type: 'Jsön', data, metadata: { cause: 'test', n: 1 } }),
          binaryEvent({ type: 'Binary', data: bytes, metadata: Uint8Array.of(1, 2, 3) }),
          jsonEvent({ type: 'Empty', data: {} }),
        ],
        'no_stream',
      )
      const [json, binary, empty] = (await collect(log.client.readStream(stream))).map(
        ({ event }) => event,
      )
      t.equal(json?.id, id)
      t.equal(json?.streamId, stream)
      t.equal(json?.type, 'Jsön')
      t.equal(json?.revision, 0n)
      t.equal(json?.isJson, true)
      t.same(json?.data, data)
      t.same(json?.metadata, { cause: 'test', n: 1 })
      t.ok(Math.abs((json?.created.getTime() ?? 0) - before) < 60_000, 'created now')
      t.equal(binary?.isJson, false)
      t.same(Buffer.from(binary?.data as Uint8Array), Buffer.from(bytes))
      t.same(Buffer.from(binary?.metadata as Uint8Array), Buffer.of(1, 2, 3))
      t.equal(empty?.metadata, undefined)
    })

    t.test(`${path}: an append over the size limit is refused whole`, async (t) => {
      const stream = log.stream()
      const big = (bytes: number) => jsonEvent({ type: 'Big', data: { x: 'x'.repeat(bytes) } })
      for (const events of [
        [big(MAX_APPEND_BYTES)],
        [big(600_000), big(600_000)],
        [big(5_000_000)],
      ]) {
        const error = await refused(
          t,
          log.append(path, stream, events, 'any'),
          MaxAppendSizeExceededError,
        )
        t.equal(error.maxAppendSize, MAX_APPEND_BYTES)
      }
      await log.append(path, stream, big(MAX_APPEND_BYTES - 4_096), 'no_stream')
      const [stored] = await collect(
        log.client.readStream<{ type: string; data: { x: string } }>(stream),
      )
      t.equal(
        stored?.event?.data.x.length,
        MAX_APPEND_BYTES - 4_096,
        'just below the limit it fits',
      )
    })

    t.test(`${path}: an append of many events is one step`, async (t) => {
      const stream = log.stream()
      const result = await log.append(path, stream, several(2_000), 'no_stream')
      t.equal(result.nextExpectedRevision, 1_999n)
      const revisions = (await collect(log.client.readStream(stream))).map(
        ({ event }) => event?.revision,
      )
      t.same(
        revisions,
        Array.from({ length: 2_000 }, (_, index) => BigInt(index)),
      )
    })
  }

  t.test('appends to many streams at once on both paths are all stored', async (t) => {
    const streams = Array.from({ length: 200 }, (_, index) => ({
      path: APPEND_PATHS[index % 2] ?? 'batch',
      name: log.stream(),
    }))
    await Promise.all(
      streams.map(({ path, name }, index) =>
        log.append(path, name, several(3, index), 'no_stream'),
      ),
    )
    const lengths = await Promise.all(
      streams.map(async ({ name }) => (await numbersIn(log.client, name)).length),
    )
    t.same(new Set(lengths), new Set([3]))
  })
})
