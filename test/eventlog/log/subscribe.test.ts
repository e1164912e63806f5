import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEventLog, type EventLogOptions } from '../../../src/eventlog/log/client.ts'
import { eventsThrough, placeOf, type LogPosition } from '../../../src/eventlog/log/position.ts'
import type {
  EventLog,
  SubscriptionMessage,
  UnknownEvent,
} from '../../../src/eventlog/log/types.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { newNamespace, startEventStore } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

function open(
  test: { readonly teardown: (end: () => Promise<void>) => void },
  options: Partial<EventLogOptions> = {},
): EventLog {
  const log = createEventLog({ url: server.url, namespace: newNamespace(), ...options })
  test.teardown(() => log.close())
  return log
}

/** Appends one event to a separate stream; its name says which it was. */
async function appendOne(log: EventLog, index: number): Promise<void> {
  const stream = `task-${index}`
  await log.append(stream, [cancelled(stream, 'c')], 'no_stream', { deadlineMs: 30_000 })
}

/** The same beside a server that goes away: what was certainly not appended is appended again. */
async function appendOneYet(log: EventLog, index: number): Promise<void> {
  for (;;)
    try {
      await appendOne(log, index)
      return
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'log_unavailable') throw error
      await sleep(50)
    }
}

/** Follows from a position until a message satisfies `enough`. */
async function follow(
  log: EventLog,
  from: LogPosition | undefined,
  enough: (message: SubscriptionMessage, all: readonly SubscriptionMessage[]) => boolean,
): Promise<readonly SubscriptionMessage[]> {
  const abort = new AbortController()
  const all: SubscriptionMessage[] = []
  const options = { signal: abort.signal, ...(from === undefined ? {} : { from }) }
  for await (const message of log.subscribe(options)) {
    all.push(message)
    if (enough(message, all)) abort.abort()
  }
  return all
}
const streamsOf = (messages: readonly SubscriptionMessage[]) =>
  messages.flatMap((message) => (message.kind === 'event' ? [message.event.stream] : []))
const events = (messages: readonly SubscriptionMessage[]) => streamsOf(messages).length
const isCaughtUp = (message: SubscriptionMessage) => message.kind === 'caughtUp'
const names = (from: number, to: number) => range(to - from).map((index) => `task-${from + index}`)

void t.test('from the start, from a position, then live, without gap or duplicate', async (t) => {
  const log = open(t)
  for (const index of range(20)) await appendOne(log, index)
  const all = await follow(log, undefined, isCaughtUp)
  t.same(streamsOf(all), names(0, 20))
  const fifth = all.flatMap((message) => (message.kind === 'event' ? [message.event] : []))[5]!
  t.same(streamsOf(await follow(log, placeOf(fifth.position), isCaughtUp)), names(6, 20))

  const live = follow(log, placeOf(fifth.position), (_, all) => events(all) === 54)
  await Promise.all(range(4).map((part) => appendAll(log, 20 + part * 10)))
  const seen = streamsOf(await live)
  t.same([...seen].sort(), [...names(6, 60)].sort())
})

async function appendAll(log: EventLog, from: number): Promise<void> {
  for (const index of range(10)) await appendOne(log, from + index)
}

void t.test('checkpoints and caughtUp never overtake events', async (t) => {
  const namespace = newNamespace()
  const log = open(t, { namespace })
  const crowd = open(t)
  for (const part of range(6)) {
    await appendAll(log, part * 10)
    const noise = range(400).map((index) => cancelled(`task-n${part}`, 'n', index))
    await crowd.append(`task-n${part}`, noise, 'no_stream')
  }
  const end = await log.endPosition()
  let last = -1n
  let checkpoints = 0
  const all = await follow(log, undefined, (message) => {
    if (message.kind === 'event') {
      t.ok(message.event.position > last, 'an event is behind everything said before')
      last = message.event.position
    } else if (message.kind === 'checkpoint') {
      t.ok(eventsThrough(message.at) >= last, 'a checkpoint moves on')
      last = eventsThrough(message.at)
      checkpoints += 1
    } else t.ok(last >= end!, 'caught up only behind the last event')
    return isCaughtUp(message)
  })
  t.equal(events(all), 60)
  t.ok(checkpoints > 0, 'other namespaces move our checkpoint')
})

void t.test('resuming from a checkpoint skips no event', async (t) => {
  const log = open(t)
  const crowd = open(t)
  await appendOne(log, 0)
  const noise = range(1_500).map((index) => cancelled('task-noise', 'n', index))
  await crowd.append('task-noise', noise, 'no_stream')
  const seen = await follow(log, undefined, isCaughtUp)
  const checkpoint = seen.findLast((message) => message.kind === 'checkpoint')
  t.ok(checkpoint?.kind === 'checkpoint')
  if (checkpoint?.kind !== 'checkpoint') return
  await appendOne(log, 1)
  const resumed = await follow(log, checkpoint.at, (_, all) => events(all) === 1)
  t.same(streamsOf(resumed), ['task-1'])
})

void t.test('a slow consumer holds the stream back and loses no event', async (t) => {
  const log = open(t)
  const bulk = range(2_000).map((index) => cancelled('task-bulk', 'b', index))
  await log.append('task-bulk', bulk, 'no_stream')
  const abort = new AbortController()
  let next = 0n
  for await (const message of log.subscribe({ signal: abort.signal })) {
    if (message.kind === 'caughtUp') break
    if (message.kind !== 'event') continue
    if (message.event.revision !== next) t.fail(`revision ${message.event.revision}, not ${next}`)
    if (next % 200n === 0n) await sleep(10)
    next += 1n
  }
  t.equal(next, 2_000n)
})

void t.test('an unreadable event ends the subscription with an error', async (t) => {
  const namespace = newNamespace()
  const log = open(t, { namespace })
  await appendOne(log, 0)
  const { EventStoreDBClient, jsonEvent } = await import('@eventstore/db-client')
  const raw = EventStoreDBClient.connectionString(server.url)
  t.teardown(() => raw.dispose())
  await raw.appendToStream(
    `${namespace}task-odd`,
    jsonEvent({ type: 'TaskExploded', data: {}, metadata: {} }),
    { credentials: { username: 'x', password: 'x' } },
  )
  const seen: string[] = []
  await t.rejects(
    (async () => {
      for await (const message of log.subscribe({ signal: new AbortController().signal }))
        if (message.kind === 'event') seen.push(message.event.stream)
    })(),
    { code: 'event_invalid', message: /TaskExploded in task-odd at \d+/ },
  )
  t.same(seen, ['task-0'])
})

void t.test('a follower without stored state continues behind an unreadable event', async (t) => {
  const namespace = newNamespace()
  const log = open(t, { namespace })
  await appendOne(log, 0)
  const { EventStoreDBClient, jsonEvent } = await import('@eventstore/db-client')
  const raw = EventStoreDBClient.connectionString(server.url)
  t.teardown(() => raw.dispose())
  await raw.appendToStream(
    `${namespace}task-odd`,
    jsonEvent({ type: 'TaskExploded', data: {}, metadata: {} }),
    { credentials: { username: 'x', password: 'x' } },
  )
  await appendOne(log, 1)
  const unknown: string[] = []
  const seen: string[] = []
  const stopping = new AbortController()
  const { signal } = stopping
  const onUnknown = ({ type, stream }: UnknownEvent) => void unknown.push(`${type} ${stream}`)
  for await (const message of log.subscribe({ signal, onUnknown })) {
    if (message.kind === 'event') seen.push(message.event.stream)
    if (seen.length === 2) stopping.abort()
  }
  t.same(unknown, ['TaskExploded task-odd'])
  t.same(seen, ['task-0', 'task-1'])
})

void t.test(
  'kill -9 and restarts while following: each event exactly once, in order',
  async (t) => {
    const drops: string[] = []
    const log = open(t, {
      observer: { subscription: ({ kind }) => void (kind === 'dropped' && drops.push(kind)) },
    })
    const total = 300
    const following = follow(log, undefined, (_, all) => events(all) === total)
    const appending = (async () => {
      for (const index of range(total)) {
        await appendOneYet(log, index)
        if (index % 10 === 0) await sleep(20)
      }
    })()
    for (const pauseMs of [200, 200]) {
      await sleep(pauseMs)
      await server.kill9()
      await server.restart()
    }
    await appending
    t.same(streamsOf(await following), names(0, total))
    t.ok(drops.length > 0)
  },
)

void t.test('a server that stops answering without closing is noticed', async (t) => {
  const changes: string[] = []
  const log = open(t, {
    limits: { idleCheckMs: 150, readTryMs: 300, backoffMaxMs: 200 },
    observer: { subscription: ({ kind }) => changes.push(kind) },
  })
  await appendOne(log, 0)
  const following = follow(log, undefined, (_, all) => events(all) === 2)
  while (!changes.includes('caught_up')) await sleep(20)
  server.freeze()
  t.teardown(() => server.thaw())
  while (!changes.includes('dropped')) await sleep(20)
  server.thaw()
  await appendOne(log, 1)
  t.same(streamsOf(await following), names(0, 2))
})

void t.test('silence does not drop a subscription', async (t) => {
  const changes: string[] = []
  const log = open(t, {
    limits: { idleCheckMs: 50 },
    observer: { subscription: ({ kind }) => changes.push(kind) },
  })
  await appendOne(log, 0)
  const following = follow(log, undefined, (_, all) => events(all) === 2)
  await sleep(600)
  await appendOne(log, 1)
  await following
  t.notOk(changes.includes('dropped'))
})

void t.test('events outside a stream prefix do not count as missed', async (t) => {
  const changes: string[] = []
  const log = open(t, {
    limits: { idleCheckMs: 50 },
    observer: { subscription: ({ kind }) => changes.push(kind) },
  })
  const abort = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    const options = { streamPrefix: 'token-', signal: abort.signal } as const
    for await (const message of log.subscribe(options))
      if (message.kind === 'event') seen.push(message.event.stream)
  })()
  while (!changes.includes('caught_up')) await sleep(20)
  for (const index of range(5)) await appendOne(log, 20 + index)
  await sleep(600)
  await log.append('token-1', [cancelled('token-1', 'c')], 'no_stream')
  while (seen.length === 0) await sleep(20)
  abort.abort()
  await following
  t.same(seen, ['token-1'])
  t.notOk(changes.includes('dropped'))
})

void t.test(
  'a subscription says up to when it has all events, in silence and in traffic',
  async (t) => {
    const log = open(t, { limits: { idleCheckMs: 100, readTryMs: 300, backoffMaxMs: 200 } })
    const abort = new AbortController()
    const answers: { readonly sinceMs: number; readonly seen: number }[] = []
    let seen = 0
    const following = (async () => {
      const onCurrent = (agoMs: number) =>
        answers.push({ sinceMs: performance.now() - agoMs, seen })
      for await (const message of log.subscribe({ signal: abort.signal, onCurrent }))
        if (message.kind === 'event') seen += 1
    })()
    const answersGrow = async (): Promise<void> => {
      const before = answers.length
      while (answers.length < before + 2) await sleep(10)
    }
    await answersGrow()
    const appendedAtMs: number[] = []
    for (let n = 0; n < 60; n += 1) {
      await appendOne(log, n)
      appendedAtMs.push(performance.now())
      await sleep(10)
    }
    const inTraffic = answers.filter(({ seen: had }) => had > 0 && had < 60)
    t.ok(inTraffic.length > 1, 'there is no silence as long as the interval meanwhile')
    for (const { sinceMs, seen: had } of answers)
      t.ok(had >= appendedAtMs.filter((atMs) => atMs < sinceMs).length)
    server.freeze()
    t.teardown(() => server.thaw())
    await sleep(400)
    const atMs = performance.now()
    const before = answers.length
    await sleep(800)
    t.equal(answers.length, before, 'a log that does not answer proves nothing')
    server.thaw()
    await answersGrow()
    t.ok(answers.at(-1)!.sinceMs > atMs)
    abort.abort()
    await following
  },
)

void t.test('a subscription ends with its signal, also while the server is away', async (t) => {
  const log = createEventLog({ url: 'esdb://127.0.0.1:9?tls=false', namespace: 'x-' })
  t.teardown(() => log.close())
  const abort = new AbortController()
  setTimeout(() => abort.abort(), 200)
  for await (const message of log.subscribe({ signal: abort.signal })) t.fail(message.kind)
  t.pass('ended')
})
