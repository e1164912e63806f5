import t, { type Test } from 'tap'
import { SERVER_VERSIONS, type ServerVersion } from '../../../infra/embedded/eventstore/versions.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { placeOf, type LogPosition } from '../../../src/eventlog/log/position.ts'
import type { EventLog, SubscriptionMessage } from '../../../src/eventlog/log/types.ts'
import { newNamespace, startEventStore } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'
import { until } from '../../helpers/eventually.ts'

/** Subscriptions over what the generations of servers say differently: where a reader stands. */

/** Events behind the start: a server's page holds 32 of them, so two pages and what is around them. */
const MOST_BEHIND = 70

for (const version of SERVER_VERSIONS)
  void t.test(`on a server of version ${version}`, { jobs: 1 }, (t) => suite(t, version))

/** Follows until it is stopped, and keeps what it received. */
function follow(log: EventLog, from: LogPosition | undefined) {
  const stopping = new AbortController()
  const events: string[] = []
  let [caughtUp, at] = [0, from]
  const note = (message: SubscriptionMessage) => {
    if (message.kind === 'caughtUp') caughtUp += 1
    else if (message.kind === 'checkpoint') at = message.at
    else {
      events.push(message.event.stream)
      at = placeOf(message.event.position)
    }
  }
  const done = (async () => {
    const options = { signal: stopping.signal, ...(from === undefined ? {} : { from }) }
    for await (const message of log.subscribe(options)) note(message)
  })()
  return {
    events,
    caughtUp: () => caughtUp,
    /** Where a reader that stored every position would continue. */
    at: () => at,
    stop: async () => {
      stopping.abort()
      await done
    },
  }
}

async function suite(t: Test, version: ServerVersion) {
  const server = await startEventStore({ version })
  t.teardown(() => server.stop())
  const open = (namespace: string): EventLog => {
    const log = createEventLog({ url: server.url, namespace })
    t.teardown(() => log.close())
    return log
  }

  // First, while the log is short: later a checkpoint has a place to name.
  await t.test('the first event of a namespace is not overlooked', async (t) => {
    const [log, crowd] = [open(newNamespace()), open(newNamespace())]
    const noise = range(40).map((index) => cancelled('task-n', 'n', index))
    await crowd.append('task-n', noise, 'no_stream')
    const changed: string[] = []
    let isLive = false
    const stopping = new AbortController()
    const following = (async () => {
      const options = { streamPrefix: 'token-', signal: stopping.signal } as const
      for await (const message of log.subscribe(options))
        if (message.kind === 'event') changed.push(message.event.stream)
        else isLive ||= message.kind === 'caughtUp'
    })()
    await until(() => isLive)
    await log.append('token-1', [cancelled('token-1', 'c')], 'no_stream')
    await until(() => changed.length > 0)
    t.same(changed, ['token-1'])
    stopping.abort()
    await following
  })

  await t.test('no event is lost at any distance behind the start', async (t) => {
    const lost: string[] = []
    const log = open(newNamespace())
    await log.append('task-first', [cancelled('task-first', 'c')], 'no_stream')
    const places = [placeOf((await log.endPosition()) ?? -1n)]
    for (const index of range(MOST_BEHIND)) {
      const stream = `task-${index}`
      const { position } = await log.append(stream, [cancelled(stream, 'c')], 'no_stream')
      places.push(placeOf(position ?? -1n))
    }
    // From each of them the end of the log is another number of events away.
    const readers = places.map((place) => follow(log, place))
    await until(() => readers.every((reader) => reader.caughtUp() > 0))
    await log.append('task-live', [cancelled('task-live', 'c')], 'no_stream')
    await until(() => readers.every((reader) => reader.events.includes('task-live'))).catch(
      () => undefined,
    )
    for (const [index, reader] of readers.entries()) {
      const wanted = [
        ...range(MOST_BEHIND)
          .slice(index)
          .map((n) => `task-${n}`),
        'task-live',
      ]
      if (reader.events.join() !== wanted.join()) lost.push(`${MOST_BEHIND - index} behind`)
    }
    t.same(lost, [])
    await Promise.all(readers.map((reader) => reader.stop()))
  })

  await t.test('a subscription that resumes from a stored position skips no event', async (t) => {
    for (const others of [0, 1, 31, 32, 63, 64, 255, 256, 1_100]) {
      const [log, crowd] = [open(newNamespace()), open(newNamespace())]
      await log.append('task-1', [cancelled('task-1', 'c')], 'no_stream')
      const noise = range(others).map((index) => cancelled('task-n', 'n', index))
      if (others > 0) await crowd.append('task-n', noise, 'no_stream')
      const reader = follow(log, undefined)
      await until(() => reader.caughtUp() > 0)
      await reader.stop()
      await log.append('task-2', [cancelled('task-2', 'c')], 'no_stream')
      const again = follow(log, reader.at())
      await until(() => again.events.length > 0)
      t.same(again.events, ['task-2'], `${others} events of others`)
      await again.stop()
    }
  })

  await t.test('a burst beyond the server’s live buffer arrives completely', async (t) => {
    const log = open(newNamespace())
    const reader = follow(log, undefined)
    await until(() => reader.caughtUp() > 0)
    const bulk = range(500).map((index) => cancelled('task-bulk', 'b', index))
    await log.append('task-bulk', bulk, 'no_stream')
    await Promise.all(
      range(20).map((n) => log.append(`task-${n}`, [cancelled(`task-${n}`, 'c')], 'no_stream')),
    )
    await until(() => reader.events.length >= 520)
    t.equal(reader.events.length, 520)
    t.equal(new Set(reader.events).size, 21)
    await reader.stop()
  })
}
