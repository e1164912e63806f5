import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  END,
  type EventData,
  type EventStoreDBClient,
  type ResolvedEvent,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import { type EmbeddedServer, startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { collect, numbered, numbersIn, several, take } from '../../../contract/setup.ts'

const WRITERS = 32
const EVENTS_PER_APPEND = 3
/** Acknowledged appends after which the server is killed, one restart each. */
const KILLS = [40, 300, 700]

interface Append {
  readonly stream: string
  readonly revision: bigint | 'no_stream'
  readonly events: EventData[]
  readonly path: 'batch' | 'unary'
}

interface Acknowledged extends Append {
  readonly lastRevision: bigint
  readonly position: bigint | undefined
}

async function temporaryDirectory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'tollgate-durability-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

async function send(client: EventStoreDBClient, append: Append): Promise<Acknowledged> {
  const result = await client.appendToStream(append.stream, append.events, {
    expectedRevision: append.revision,
    ...(append.path === 'unary' ? { credentials: { username: 'u', password: 'p' } } : {}),
  })
  return { ...append, lastRevision: result.nextExpectedRevision, position: result.position?.commit }
}

/** Writes from many writers until the server is killed under them. */
async function writeUntilKilled(
  server: EmbeddedServer,
  round: number,
  killAfter: number,
): Promise<{ acknowledged: Acknowledged[]; open: Append[] }> {
  const client = openClient(server.url)
  const acknowledged: Acknowledged[] = []
  const open: Append[] = []
  let killed: Promise<void> | undefined
  const writer = async (index: number): Promise<void> => {
    let revision: bigint | 'no_stream' = 'no_stream'
    for (let n = 0; ; n += EVENTS_PER_APPEND) {
      const append: Append = {
        stream: `round-${round}-writer-${index}`,
        revision,
        events: several(EVENTS_PER_APPEND, n),
        path: index % 2 === 0 ? 'batch' : 'unary',
      }
      try {
        const done = await send(client, append)
        acknowledged.push(done)
        revision = done.lastRevision
      } catch {
        open.push(append)
        return
      }
      if (acknowledged.length >= killAfter) killed ??= server.kill()
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, index) => writer(index)))
  await killed
  await client.dispose()
  return { acknowledged, open }
}

function idsOf(events: readonly ResolvedEvent[]): string[] {
  return events.map(({ event }) => event?.id ?? '')
}

t.test('kill -9 under concurrent load loses no acknowledged append and splits none', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const acknowledged: Acknowledged[] = []
  const settled: Acknowledged[] = []
  for (const [round, killAfter] of KILLS.entries()) {
    const server = await startEmbeddedServer({ dataDir })
    const { acknowledged: now, open } = await writeUntilKilled(server, round, killAfter)
    acknowledged.push(...now)
    t.ok(now.length >= killAfter, `${now.length} appends were acknowledged before the kill`)
    t.ok(open.length > 0, `${open.length} appends were open at the kill`)

    const restarted = await startEmbeddedServer({ dataDir })
    const client = openClient(restarted.url)
    for (const append of open) {
      const found = await collect(client.readStream(append.stream)).catch(() => [])
      const there = append.events.filter(({ id }) => idsOf(found).includes(id)).length
      if (there !== 0 && there !== EVENTS_PER_APPEND) t.fail('an append was written in part')
      // The outcome is unknown to the writer: the identical append settles it either way.
      settled.push(await send(client, append))
    }
    await client.dispose()
    t.equal(await restarted.stop(), 0)
  }

  const server = await startEmbeddedServer({ dataDir })
  t.teardown(() => server.stop())
  const client = openClient(server.url)
  t.teardown(() => client.dispose())
  const all = await collect(client.readAll({ fromPosition: START }))
  const positions = all.map(({ event }) => event?.position?.commit ?? -1n)
  t.ok(
    positions.every((position, index) => index === 0 || position > (positions[index - 1] ?? 0n)),
    'positions rise over all restarts',
  )
  const byId = new Map(all.map(({ event }) => [event?.id, event]))
  t.equal(byId.size, all.length, 'no event is there twice')
  t.equal(all.length, (acknowledged.length + settled.length) * EVENTS_PER_APPEND, 'nothing else')
  for (const append of [...acknowledged, ...settled]) {
    const stored = append.events.map(({ id }) => byId.get(id))
    const last = stored.at(-1)
    const isWhole = stored.every(
      (event, index) =>
        event?.streamId === append.stream &&
        event.revision === append.lastRevision - BigInt(EVENTS_PER_APPEND - 1 - index),
    )
    if (!isWhole) t.fail(`an acknowledged append to ${append.stream} is not where it was promised`)
    if (append.position !== undefined && last?.position?.commit !== append.position) {
      t.fail(`an acknowledged append to ${append.stream} moved`)
    }
  }
  t.pass(`${acknowledged.length} acknowledged appends are where they were promised`)
})

t.test('after a restart appends, retries and subscriptions continue', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const events = several(3)
  const loose = several(2, 50)
  const first = await startEmbeddedServer({ dataDir })
  const before = openClient(first.url)
  await before.appendToStream('kept', events, { expectedRevision: 'no_stream' })
  await before.appendToStream('loose', loose)
  await before.appendToStream('gone', several(2))
  await before.deleteStream('gone')
  await before.appendToStream('closed', several(2))
  await before.tombstoneStream('closed')
  const [, , third] = await collect(before.readStream('kept'))
  const checkpoint = third?.event?.position
  await before.dispose()
  t.equal(await first.stop(), 0)

  const second = await startEmbeddedServer({ dataDir })
  t.teardown(() => second.stop())
  const client = openClient(second.url)
  t.teardown(() => client.dispose())
  const retried = await client.appendToStream('kept', events, { expectedRevision: 'no_stream' })
  t.equal(retried.nextExpectedRevision, 2n, 'an old append is still recognised by its revision')
  const again = await client.appendToStream('loose', loose)
  t.equal(again.nextExpectedRevision, 1n, 'a recent one also without')
  const next = await client.appendToStream('kept', numbered(3), { expectedRevision: 2n })
  t.ok((next.position?.commit ?? 0n) > (checkpoint?.commit ?? 0n), 'positions go on')
  t.same(await numbersIn(client, 'kept'), [0, 1, 2, 3])
  const outcomes = await Promise.allSettled([
    collect(client.readStream('gone')),
    collect(client.readStream('closed')),
  ])
  t.same(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.type : 'read')),
    ['stream-not-found', 'stream-deleted'],
  )
  if (checkpoint === undefined) return t.fail('an event has a position')
  const subscription = client.subscribeToAll({
    fromPosition: checkpoint,
    filter: streamNameFilter({ prefixes: ['kept'] }),
  })
  const [resumed] = await take(subscription, 1)
  t.equal(resumed?.event?.revision, 3n, 'a checkpoint from before the restart still holds')
})

for (const path of ['batch', 'unary'] as const) {
  t.test(`${path}: SIGTERM commits accepted appends before the stop`, async (t) => {
    const dataDir = await temporaryDirectory(t)
    const server = await startEmbeddedServer({ dataDir })
    const client = openClient(server.url)
    const subscription = client.subscribeToAll({ fromPosition: END })
    subscription.on('error', () => undefined)
    const appends = Array.from({ length: 200 }, (_, index) =>
      send(client, {
        stream: `stopping-${index}`,
        revision: 'no_stream',
        events: several(1, index),
        path,
      }),
    )
    await appends[0]
    t.equal(await server.stop(), 0)
    const results = await Promise.allSettled(appends)
    await client.dispose()

    const restarted = await startEmbeddedServer({ dataDir })
    t.teardown(() => restarted.stop())
    const after = openClient(restarted.url)
    t.teardown(() => after.dispose())
    let acknowledged = 0
    for (const [index, result] of results.entries()) {
      if (result.status === 'rejected') continue
      acknowledged += 1
      t.same(await numbersIn(after, `stopping-${index}`), [index])
    }
    t.ok(acknowledged > 0, `${acknowledged} of ${results.length} were acknowledged`)
  })
}
