import { BACKWARDS, END, FORWARDS, START, StreamNotFoundError } from '@eventstore/db-client'
import t from 'tap'
import { collect, onEveryServer, numbered, numberOf, several, refused } from './setup.ts'

const MANY = 1_500
const READ_ALL_LIMIT = 5_000

await onEveryServer(t, async (t, log) => {
  const { client } = log

  t.test('a stream is read in both directions from every kind of start', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(10))
    const read = async (options: Parameters<typeof client.readStream>[1]) =>
      (await collect(client.readStream(stream, options))).map(numberOf)

    t.same(await read({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 'forwards from the start by default')
    t.same(await read({ direction: FORWARDS, fromRevision: START, maxCount: 3 }), [0, 1, 2])
    t.same(await read({ direction: FORWARDS, fromRevision: 7n }), [7, 8, 9], 'inclusive')
    t.same(await read({ direction: FORWARDS, fromRevision: 4n, maxCount: 2 }), [4, 5])
    t.same(await read({ direction: FORWARDS, fromRevision: 9n, maxCount: 5 }), [9])
    t.same(await read({ direction: FORWARDS, fromRevision: 10n }), [], 'past the end: nothing')
    t.same(await read({ direction: BACKWARDS, fromRevision: END }), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    t.same(await read({ direction: BACKWARDS, fromRevision: END, maxCount: 1 }), [9])
    t.same(await read({ direction: BACKWARDS, fromRevision: 3n }), [3, 2, 1, 0], 'inclusive')
    t.same(await read({ direction: BACKWARDS, fromRevision: 3n, maxCount: 2 }), [3, 2])
    t.same(await read({ direction: BACKWARDS, fromRevision: START }), [0])
  })

  t.test('a stream longer than any page is read whole, in order, both ways', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(MANY))
    const expected = Array.from({ length: MANY }, (_, index) => index)
    const forwards = await collect(client.readStream(stream))
    t.same(forwards.map(numberOf), expected)
    const options = { direction: BACKWARDS, fromRevision: END, maxCount: MANY - 1 } as const
    const backwards = await collect(client.readStream(stream, options))
    t.same(backwards.map(numberOf), expected.slice(1).toReversed())
  })

  t.test('reading a stream that does not exist is stream-not-found', async (t) => {
    const stream = log.stream()
    const error = await refused(t, collect(client.readStream(stream)), StreamNotFoundError)
    t.equal(error.streamName, stream)
    const backwards = client.readStream(stream, { direction: BACKWARDS, fromRevision: END })
    await refused(t, collect(backwards), StreamNotFoundError)
  })

  t.test('streams whose names share a prefix are separate', async (t) => {
    const stream = log.stream()
    const longer = `${stream}\u0000x`
    await client.appendToStream(stream, several(2))
    await client.appendToStream(longer, several(3, 10))
    t.same((await collect(client.readStream(stream))).map(numberOf), [0, 1])
    t.same((await collect(client.readStream(longer))).map(numberOf), [10, 11, 12])
  })

  t.test('$all is read in both directions from every kind of start', async (t) => {
    const streams = [log.stream('a'), log.stream('b')]
    const positions: bigint[] = []
    for (let n = 0; n < 8; n += 1) {
      const { position } = await client.appendToStream(streams[n % 2] ?? '', numbered(n))
      positions.push(position?.commit ?? -1n)
    }
    const at = (n: number) => ({ commit: positions[n] ?? -1n, prepare: positions[n] ?? -1n })
    const read = async (options: Parameters<typeof client.readAll>[0]) =>
      (await collect(client.readAll({ maxCount: READ_ALL_LIMIT, ...options })))
        .filter(({ event }) => streams.includes(event?.streamId ?? ''))
        .map(numberOf)

    const fromThree = await read({ direction: FORWARDS, fromPosition: at(3) })
    t.same(fromThree, [3, 4, 5, 6, 7], 'forwards a position is inclusive')
    const beforeThree = await read({ direction: BACKWARDS, fromPosition: at(3) })
    t.same(beforeThree, [2, 1, 0], 'backwards a position is exclusive')
    t.same(await read({ direction: BACKWARDS, fromPosition: END }), [7, 6, 5, 4, 3, 2, 1, 0])
    t.same(await read({ direction: FORWARDS, fromPosition: END }), [])
    t.same(await read({ direction: BACKWARDS, fromPosition: START }), [])
    const oldest = await collect(client.readAll({ fromPosition: START, maxCount: 5 }))
    t.equal(oldest.length, 5, 'from the start, as many as asked for')
    const [exactly] = await collect(client.readAll({ fromPosition: at(5), maxCount: 1 }))
    t.equal(exactly === undefined ? undefined : numberOf(exactly), 5)
  })

  t.test('$all shows every append once, in rising positions', async (t) => {
    const first = await client.appendToStream(log.stream(), numbered(0))
    const streams = Array.from({ length: 30 }, () => log.stream())
    await Promise.all(streams.map((stream) => client.appendToStream(stream, several(4))))
    const fromPosition = first.position
    if (fromPosition === undefined) return t.fail('a new append has a position')
    const seen = (await collect(client.readAll({ fromPosition, maxCount: READ_ALL_LIMIT }))).filter(
      ({ event }) => streams.includes(event?.streamId ?? ''),
    )
    t.equal(seen.length, 120)
    const positions = seen.map(({ event }) => event?.position?.commit ?? -1n)
    t.ok(
      positions.every((position, index) => index === 0 || position > (positions[index - 1] ?? 0n)),
    )
    for (const stream of streams) {
      const revisions = seen.filter(({ event }) => event?.streamId === stream).map(numberOf)
      t.same(revisions, [0, 1, 2, 3])
    }
  })

  t.test('an acknowledged append can be read at once', async (t) => {
    const stream = log.stream()
    for (let n = 0; n < 30; n += 1) {
      await client.appendToStream(stream, numbered(n))
      const options = { direction: BACKWARDS, fromRevision: END, maxCount: 1 } as const
      const [last] = await collect(client.readStream(stream, options))
      if (last === undefined || numberOf(last) !== n) return t.fail(`event ${n} was not there`)
    }
    t.pass('each append was there when it was answered')
  })
})
