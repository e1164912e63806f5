import { once } from 'node:events'
import {
  type AllStreamSubscription,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import t from 'tap'
import { collect, numbered, numberOf, onEveryServer, several, take } from './setup.ts'

const MOST_BEHIND = 70
const BURST_EVENTS = 100
/** 2^64-1: nobody can resume from it, it asks for the end. */
const WIRE_END = 2n ** 64n - 1n

const samePosition = (commit: bigint): Position => ({ commit, prepare: commit })

await onEveryServer(t, async (t, log) => {
  const { client } = log

  /** A subscription, and the checkpoints it has been told. */
  const subscribe = (prefix: string, fromPosition: Position | typeof START) => {
    const checkpoints: Position[] = []
    const filter = streamNameFilter({
      prefixes: [prefix],
      maxSearchWindow: 32,
      checkpointInterval: 1,
      checkpointReached: async (_subscription, position) => void checkpoints.push(position),
    })
    const subscription = client.subscribeToAll({ fromPosition, filter })
    return { subscription, checkpoints }
  }

  const next = async (subscription: AllStreamSubscription): Promise<number> => {
    const [event] = await take(subscription, 1)
    await subscription.unsubscribe()
    return event === undefined ? -1 : numberOf(event)
  }

  t.test('no checkpoint skips an event, whatever precedes the start', async (t) => {
    const noise = log.stream('noise')
    const positions: bigint[] = []
    const append = async (stream: string, n: number): Promise<void> => {
      const { position } = await client.appendToStream(stream, numbered(n))
      positions.push(position?.commit ?? -1n)
    }
    for (let n = 0; n <= MOST_BEHIND; n += 1) await append(noise, n)
    for (let count = 0; count <= MOST_BEHIND; count += 1) {
      const wanted = log.stream('wanted')
      const from = samePosition(positions.at(-1 - count) ?? -1n)
      const { subscription, checkpoints } = subscribe(wanted, from)
      await once(subscription, 'caughtUp')
      // Where there are two alike, or several, the last is the most daring.
      const told = checkpoints.at(-1)
      const live = next(subscription)
      await append(wanted, count)
      if ((await live) !== count) t.fail(`${count} behind: another event`)
      if (told === undefined) continue
      const resumed = await next(subscribe(wanted, told).subscription)
      if (resumed !== count) t.fail(`${count} behind: another event after a checkpoint`)
    }
    t.pass(`each event came, at 0 to ${MOST_BEHIND} events behind the start`)
  })

  t.test('from the start without a match, no checkpoint but 2^64-1 skips an event', async (t) => {
    const wanted = log.stream('wanted')
    const { subscription, checkpoints } = subscribe(wanted, START)
    await once(subscription, 'caughtUp')
    const told = checkpoints.filter(({ commit }) => commit !== WIRE_END).slice(-3)
    const live = next(subscription)
    await client.appendToStream(wanted, numbered(1))
    t.equal(await live, 1)
    for (const checkpoint of told) {
      t.equal(await next(subscribe(wanted, checkpoint).subscription), 1)
    }
  })

  t.test('2^64-1 as a start is the end of the log', async (t) => {
    const wanted = log.stream('wanted')
    await client.appendToStream(wanted, several(3))
    const { subscription } = subscribe(wanted, samePosition(WIRE_END))
    await once(subscription, 'caughtUp')
    const live = next(subscription)
    await client.appendToStream(wanted, numbered(3))
    t.equal(await live, 3)
    const read = client.readAll({ fromPosition: samePosition(WIRE_END), maxCount: 10 })
    t.same(await collect(read), [], 'nothing is read from there')
  })

  t.test('a read begins at the event with the given commit, whatever the prepare', async (t) => {
    const { position } = await client.appendToStream(log.stream(), numbered(7))
    if (position === undefined) return t.fail('a new append has a position')
    for (const prepare of [position.prepare, 0n]) {
      const fromPosition = { commit: position.commit, prepare }
      const [first] = await collect(client.readAll({ fromPosition, maxCount: 1 }))
      t.equal(first?.event?.position?.commit, position.commit)
    }
  })

  t.test('a burst reaches a live subscriber completely, if necessary by resuming', async (t) => {
    const wanted = log.stream('wanted')
    const { position: start } = await client.appendToStream(log.stream(), numbered(0))
    if (start === undefined) return t.fail('a new append has a position')
    const { subscription } = subscribe(wanted, start)
    await once(subscription, 'caughtUp')
    const seen: number[] = []
    let from = start
    const reading = (async () => {
      let current = subscription
      while (seen.length < BURST_EVENTS) {
        try {
          for await (const resolved of current) {
            seen.push(numberOf(resolved))
            from = resolved.event?.position ?? from
            if (seen.length >= BURST_EVENTS) break
          }
        } catch (error) {
          // EventStoreDB 23.10 ends a live subscription that it finds too slow.
          t.match(error, { message: /Consumer too slow/ })
          current = subscribe(wanted, from).subscription
        }
      }
    })()
    await client.appendToStream(wanted, several(BURST_EVENTS))
    await reading
    t.same(
      seen,
      Array.from({ length: BURST_EVENTS }, (_, index) => index),
    )
  })
})
