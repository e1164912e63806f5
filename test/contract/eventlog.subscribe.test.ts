import { once } from 'node:events'
import {
  type AllStreamSubscription,
  END,
  eventTypeFilter,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { collect, onEveryServer, numbered, numberOf, settle, several, take } from './setup.ts'

await onEveryServer(t, async (t, log) => {
  const { client, prefix } = log

  t.test('a stream subscription from the start catches up, then follows', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(5))
    const subscription = client.subscribeToStream(stream, { fromRevision: START })
    const caughtUp = once(subscription, 'caughtUp')
    const seen = take(subscription, 8)
    await caughtUp
    for (let n = 5; n < 8; n += 1) await client.appendToStream(stream, numbered(n))
    t.same((await seen).map(numberOf), [0, 1, 2, 3, 4, 5, 6, 7])
  })

  t.test('a stream subscription from a revision begins after it', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(5))
    const subscription = client.subscribeToStream(stream, { fromRevision: 2n })
    t.same((await take(subscription, 2)).map(numberOf), [3, 4])
  })

  t.test('a stream subscription from the end shows only later events', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(3))
    const subscription = client.subscribeToStream(stream, { fromRevision: END })
    await once(subscription, 'caughtUp')
    const seen = take(subscription, 2)
    await client.appendToStream(stream, several(2, 3))
    t.same((await seen).map(numberOf), [3, 4])
  })

  t.test('a subscription to a stream that does not exist waits for it', async (t) => {
    const stream = log.stream()
    // EventStoreDB 23.10 does not say that it has caught up with nothing.
    const subscription = client.subscribeToStream(stream, { fromRevision: START })
    await once(subscription, 'confirmation')
    const seen = take(subscription, 2)
    await client.appendToStream(log.stream(), numbered(99))
    await client.appendToStream(stream, several(2))
    t.same((await seen).map(numberOf), [0, 1])
  })

  t.test('a subscription is confirmed with an id', async (t) => {
    const subscription = client.subscribeToAll({ fromPosition: END })
    await once(subscription, 'confirmation')
    t.match(subscription.id, /.+/)
    await subscription.unsubscribe()
  })

  /** Streams and types of the filter tests, in the order they are written. */
  async function writeForFilters(t: Test): Promise<{ from: Position; base: string }> {
    const { position } = await client.appendToStream(log.stream('before'), numbered(-1))
    if (position === undefined) throw new Error('a new append has a position')
    const base = log.stream(t.name.replace(/\W+/g, ''))
    const write = (stream: string, n: number, type: string) =>
      client.appendToStream(`${base}-${stream}`, numbered(n, type))
    await write('red-1', 0, 'AppleFell')
    await write('blue-1', 1, 'PearFell')
    await write('red-2', 2, 'AppleRose')
    await write('green', 3, 'Apples')
    await write('blue-2', 4, 'PearRose')
    return { from: position, base }
  }

  t.test('$all is filtered by stream name prefix', async (t) => {
    const { from, base } = await writeForFilters(t)
    const filter = streamNameFilter({ prefixes: [`${base}-red`, `${base}-green`] })
    const subscription = client.subscribeToAll({ fromPosition: from, filter })
    t.same((await take(subscription, 3)).map(numberOf), [0, 2, 3])
  })

  t.test('$all is filtered by stream name expression', async (t) => {
    const { from, base } = await writeForFilters(t)
    const filter = streamNameFilter({ regex: `^${base}-(blue|green).*$` })
    const subscription = client.subscribeToAll({ fromPosition: from, filter })
    t.same((await take(subscription, 3)).map(numberOf), [1, 3, 4])
  })

  t.test('$all is filtered by event type prefix', async (t) => {
    const { from, base } = await writeForFilters(t)
    const filter = eventTypeFilter({ prefixes: ['Apple'] })
    const subscription = client.subscribeToAll({ fromPosition: from, filter })
    const seen: number[] = []
    for await (const resolved of subscription) {
      if (resolved.event?.streamId.startsWith(base) === true) seen.push(numberOf(resolved))
      if (seen.length === 3) break
    }
    t.same(seen, [0, 2, 3])
  })

  t.test('$all is filtered by event type expression', async (t) => {
    const { from, base } = await writeForFilters(t)
    const filter = eventTypeFilter({ regex: '^(Apple|Pear)Rose$' })
    const subscription = client.subscribeToAll({ fromPosition: from, filter })
    const seen: number[] = []
    for await (const resolved of subscription) {
      if (resolved.event?.streamId.startsWith(base) === true) seen.push(numberOf(resolved))
      if (seen.length === 2) break
    }
    t.same(seen, [2, 4])
  })

  t.test('$all from the end shows only later events', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(3))
    const filter = streamNameFilter({ prefixes: [stream] })
    const subscription = client.subscribeToAll({ fromPosition: END, filter })
    await once(subscription, 'caughtUp')
    const seen = take(subscription, 1)
    await client.appendToStream(stream, numbered(3))
    t.same((await seen).map(numberOf), [3])
  })

  t.test('$all resumed from the position of any event continues with the next event', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(6))
    const events = await collect(client.readStream(stream))
    const filter = streamNameFilter({ prefixes: [stream] })
    for (const after of [0, 2, 4]) {
      const fromPosition = events[after]?.event?.position
      if (fromPosition === undefined) return t.fail('an event has a position')
      const subscription = client.subscribeToAll({ fromPosition, filter })
      const expected = [0, 1, 2, 3, 4, 5].slice(after + 1)
      t.same((await take(subscription, expected.length)).map(numberOf), expected)
    }
  })

  t.test('a filtered subscription gets checkpoints without a match', async (t) => {
    const { position: from } = await client.appendToStream(log.stream(), numbered(0))
    if (from === undefined) return t.fail('a new append has a position')
    const wanted = log.stream('wanted')
    await client.appendToStream(log.stream('noise'), several(300))
    const { position: last } = await client.appendToStream(wanted, numbered(1))
    await client.appendToStream(log.stream('noise'), several(300))

    const checkpoints: Position[] = []
    let subscription: AllStreamSubscription | undefined
    const enough = new Promise<void>((resolve) => {
      subscription = client.subscribeToAll({
        fromPosition: from,
        filter: streamNameFilter({
          prefixes: [wanted],
          maxSearchWindow: 32,
          checkpointInterval: 2,
          checkpointReached: async (_subscription, position) => {
            checkpoints.push(position)
            if (checkpoints.length >= 6) resolve()
          },
        }),
      })
    })
    if (subscription === undefined) return t.fail('there is a subscription')
    const seen = await take(subscription, 0)
    const first = subscription[Symbol.asyncIterator]().next()
    t.equal(numberOf((await first).value), 1)
    await enough
    t.same(seen, [])
    for (const [index, { commit }] of checkpoints.entries()) {
      t.ok(index === 0 || commit >= (checkpoints[index - 1]?.commit ?? 0n), 'checkpoints rise')
    }
    t.ok((checkpoints.at(-1)?.commit ?? 0n) > (last?.commit ?? 0n), 'also past the last match')
    await subscription.unsubscribe()
  })

  t.test('resuming from any checkpoint skips and repeats no event', async (t) => {
    const { position: from } = await client.appendToStream(log.stream(), numbered(0))
    if (from === undefined) return t.fail('a new append has a position')
    const wanted = log.stream('wanted')
    for (let n = 0; n < 10; n += 1) {
      await client.appendToStream(wanted, numbered(n))
      await client.appendToStream(log.stream('noise'), several(20))
    }
    const positions = new Map(
      (await collect(client.readStream(wanted))).map((resolved) => [
        numberOf(resolved),
        resolved.event?.position?.commit ?? -1n,
      ]),
    )
    const checkpoints: Position[] = []
    const options = { prefixes: [wanted], maxSearchWindow: 16 }
    const subscription = client.subscribeToAll({
      fromPosition: from,
      filter: streamNameFilter({
        ...options,
        checkpointReached: async (_subscription, position) => void checkpoints.push(position),
      }),
    })
    t.same((await take(subscription, 10)).map(numberOf), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    t.ok(checkpoints.length >= 5, 'there were checkpoints')
    for (const checkpoint of checkpoints.slice(0, 5)) {
      const rest = [...positions].filter(([, commit]) => commit > checkpoint.commit).map(([n]) => n)
      const resumed = client.subscribeToAll({
        fromPosition: checkpoint,
        filter: streamNameFilter(options),
      })
      t.same((await take(resumed, rest.length)).map(numberOf), rest)
      await resumed.unsubscribe()
    }
  })

  t.test('catching up under concurrent writers leaves no gap and no duplicate', async (t) => {
    const { position: from } = await client.appendToStream(log.stream(), numbered(0))
    if (from === undefined) return t.fail('a new append has a position')
    const base = log.stream('busy')
    const writers = 8
    const appends = 60
    const perAppend = 2
    const total = writers * appends * perAppend
    const acknowledged = new Map<string, bigint>()
    const writing = Array.from({ length: writers }, async (_, writer) => {
      const stream = `${base}-${writer}`
      for (let n = 0; n < appends; n += 1) {
        const path = (writer + n) % 2 === 0 ? 'batch' : 'unary'
        const result = await log.append(path, stream, several(perAppend, n * perAppend))
        acknowledged.set(`${stream}@${result.nextExpectedRevision}`, result.position?.commit ?? -1n)
      }
    })
    const filter = streamNameFilter({ prefixes: [base] })
    const follow = () => take(client.subscribeToAll({ fromPosition: from, filter }), total)
    const early = follow()
    await Promise.race(writing)
    const late = follow()
    const runs = await Promise.all([early, late])
    await Promise.all(writing)
    for (const seen of runs) {
      const positions = seen.map(({ event }) => event?.position?.commit ?? -1n)
      t.ok(
        positions.every(
          (position, index) => index === 0 || position > (positions[index - 1] ?? 0n),
        ),
        'positions rise strictly',
      )
      for (let writer = 0; writer < writers; writer += 1) {
        const numbers = seen
          .filter(({ event }) => event?.streamId === `${base}-${writer}`)
          .map(numberOf)
        t.same(
          numbers,
          Array.from({ length: appends * perAppend }, (_, index) => index),
          'every event of a writer, in its order',
        )
      }
      for (const { event } of seen) {
        const position = acknowledged.get(`${event?.streamId}@${event?.revision}`)
        if (position !== undefined && position !== event?.position?.commit) {
          t.fail('an event is elsewhere than its append said')
        }
      }
    }
  })

  t.test('a live event can be read at the position that the subscriber saw', async (t) => {
    const stream = log.stream()
    const filter = streamNameFilter({ prefixes: [stream] })
    const subscription = client.subscribeToAll({ fromPosition: END, filter })
    await once(subscription, 'caughtUp')
    const writing = (async () => {
      for (let n = 0; n < 20; n += 1) await client.appendToStream(stream, numbered(n))
    })()
    let seen = 0
    for await (const { event } of subscription) {
      if (event === undefined) continue
      const [read] = await collect(
        client.readStream(stream, { fromRevision: event.revision, maxCount: 1 }),
      )
      if (read?.event?.id !== event.id) return t.fail(`event ${event.revision} was not readable`)
      seen += 1
      if (seen === 20) break
    }
    await writing
    t.equal(seen, 20)
  })

  t.test('after unsubscribing no event arrives, and other subscriptions go on', async (t) => {
    const stream = log.stream()
    const filter = streamNameFilter({ prefixes: [prefix] })
    const leaving = client.subscribeToAll({ fromPosition: END, filter })
    const staying = client.subscribeToStream(stream, { fromRevision: START })
    await Promise.all([once(leaving, 'caughtUp'), once(staying, 'confirmation')])
    let stray = 0
    leaving.on('data', () => (stray += 1))
    await leaving.unsubscribe()
    await settle()
    const seen = take(staying, 3)
    await client.appendToStream(stream, several(3))
    t.same((await seen).map(numberOf), [0, 1, 2])
    t.equal(stray, 0)
  })
})
