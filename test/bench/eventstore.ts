/**
 * The embedded event store through the real client: durable appends and `$all` replay.
 * Server and client are separate processes; each has about one core.
 */

import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type EventStoreDBClient, jsonEvent, START, streamNameFilter } from '@eventstore/db-client'
import { openClient } from '../../src/eventlog/log/connection.ts'
import { startEmbeddedServer } from '../contract/embedded-server.ts'
import type { Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

const CONCURRENCY = 64
const APPEND_SECONDS = sized(5, 1)
const WARM_UP_SECONDS = 1
const REPLAY_EVENTS = sized(200_000, 5_000)
const REPLAY_STREAM_EVENTS = 100
const FILL_CONCURRENCY = 8
const PAYLOAD = 'x'.repeat(330)
const CREDENTIALS = { username: 'unary', password: 'unary' }

const event = (n: number): ReturnType<typeof jsonEvent> =>
  jsonEvent({
    id: randomUUID(),
    type: 'BenchHappened',
    data: { n, at: '2026-01-01T00:00:00.000Z', payload: PAYLOAD },
    metadata: { correlation: 'bench' },
  })

async function appendsPerSecond(client: EventStoreDBClient, unary: boolean): Promise<number> {
  const warm = performance.now() + WARM_UP_SECONDS * 1000
  const end = warm + APPEND_SECONDS * 1000
  let counted = 0
  const options = unary ? { credentials: CREDENTIALS } : {}
  const run = async (): Promise<void> => {
    for (;;) {
      const now = performance.now()
      if (now >= end) return
      await client.appendToStream(`bench-${randomUUID()}`, event(0), {
        expectedRevision: 'no_stream',
        ...options,
      })
      if (performance.now() >= warm && performance.now() < end) counted += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, run))
  return counted / APPEND_SECONDS
}

async function fill(client: EventStoreDBClient, total: number): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    for (;;) {
      const from = next
      if (from >= total) return
      next += REPLAY_STREAM_EVENTS
      const events = Array.from({ length: REPLAY_STREAM_EVENTS }, (_, index) => event(from + index))
      await client.appendToStream(`replay-${from}`, events, { expectedRevision: 'no_stream' })
    }
  }
  await Promise.all(Array.from({ length: FILL_CONCURRENCY }, run))
}

async function replayPerSecond(client: EventStoreDBClient, total: number): Promise<number> {
  const started = performance.now()
  const subscription = client.subscribeToAll({
    fromPosition: START,
    filter: streamNameFilter({ prefixes: ['replay-'], checkpointInterval: 100 }),
  })
  let seen = 0
  for await (const _resolved of subscription) {
    seen += 1
    if (seen === total) break
  }
  return total / ((performance.now() - started) / 1000)
}

/** Runs the benchmark; about half a minute. */
export async function run(): Promise<Figure[]> {
  const server = await startEmbeddedServer()
  const client = openClient(server.url)
  try {
    const batch = await appendsPerSecond(client, false)
    const unary = await appendsPerSecond(client, true)
    await fill(client, REPLAY_EVENTS)
    const replay = await replayPerSecond(client, REPLAY_EVENTS)
    return [
      {
        name: 'event store, 64 concurrent durable appends, batch path',
        value: batch,
        unit: 'appends/s',
        reach: 5_000,
      },
      {
        name: 'event store, 64 concurrent durable appends, unary path',
        value: unary,
        unit: 'appends/s',
        reach: 5_000,
      },
      {
        name: 'event store, $all filtered subscription replay',
        value: replay,
        unit: 'events/s',
        reach: 30_000,
      },
    ]
  } finally {
    await client.dispose()
    await server.stop()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const figures = await run()
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
  process.exit(0)
}
