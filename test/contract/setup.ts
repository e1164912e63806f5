/**
 * What every contract test needs: a server, a client, a namespace of its own.
 *
 * With `EVENTSTORE_URL` set the suite runs against that server and touches only streams whose
 * names begin with a prefix unique to the run; without it embedded servers are started, one of
 * each generation.
 */

import { randomUUID } from 'node:crypto'
import {
  type AppendExpectedRevision,
  type AppendResult,
  type EventData,
  type EventStoreDBClient,
  jsonEvent,
  type ResolvedEvent,
} from '@eventstore/db-client'
import type { Test } from 'tap'
import { openClient } from '../../src/eventlog/log/connection.ts'
import { SERVER_VERSIONS } from '../../infra/embedded/eventstore/versions.ts'
import { startEmbeddedServer } from './embedded-server.ts'

/** How an append travels: on the client's shared batch stream, or as a call of its own. */
export type AppendPath = 'batch' | 'unary'

export const APPEND_PATHS: readonly AppendPath[] = ['batch', 'unary']

/** A server under contract. */
export interface Contract {
  readonly url: string
  readonly client: EventStoreDBClient
  /** Start of every stream name of this run. */
  readonly prefix: string
  /** A stream name nobody has used. */
  readonly stream: (name?: string) => string
  /** Appends on the path named; by default any revision. */
  readonly append: (
    path: AppendPath,
    stream: string,
    events: EventData | EventData[],
    expectedRevision?: AppendExpectedRevision,
  ) => Promise<AppendResult>
}

/** Passing credentials per call is what selects the unary path. */
const CREDENTIALS = {
  username: process.env['EVENTSTORE_USERNAME'] ?? 'admin',
  password: process.env['EVENTSTORE_PASSWORD'] ?? 'changeit',
}

/**
 * Runs a file's cases against the server `EVENTSTORE_URL` names, or against an embedded one of each
 * generation.
 */
export async function onEveryServer(
  t: Test,
  cases: (t: Test, contract: Contract) => Promise<void>,
): Promise<void> {
  const given = process.env['EVENTSTORE_URL']
  if (given !== undefined) {
    await cases(t, await contractWith(t, given))
    return
  }
  for (const version of SERVER_VERSIONS) {
    await t.test(`server ${version}`, async (t) => {
      const embedded = await startEmbeddedServer({ version })
      t.teardown(() => embedded.stop())
      await cases(t, await contractWith(t, embedded.url))
    })
  }
}

/** Connects to a server until the test is over. */
async function contractWith(t: Test, url: string): Promise<Contract> {
  const client = openClient(url)
  t.teardown(() => client.dispose())
  const prefix = `${process.env['EVENTSTORE_PREFIX'] ?? 'contract'}-${randomUUID()}-`
  return {
    url,
    client,
    prefix,
    stream: (name = 'stream') => `${prefix}${name}-${randomUUID()}`,
    append: (path, stream, events, expectedRevision = 'any') =>
      client.appendToStream(stream, events, {
        expectedRevision,
        ...(path === 'unary' ? { credentials: CREDENTIALS } : {}),
      }),
  }
}

/** An event that carries a number. */
export function numbered(n: number, type = 'Numbered'): EventData {
  return jsonEvent({ id: randomUUID(), type, data: { n } })
}

/** Events numbered from `first`. */
export function several(count: number, first = 0, type = 'Numbered'): EventData[] {
  return Array.from({ length: count }, (_, index) => numbered(first + index, type))
}

/** Number of an event made by `numbered`. */
export function numberOf(resolved: ResolvedEvent): number {
  const data = resolved.event?.data as { n: number } | undefined
  if (data === undefined) throw new Error('the event was not resolved')
  return data.n
}

/** Everything an async sequence yields. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

/** The first `count` items of a sequence; the sequence is ended then. */
export async function take<T>(source: AsyncIterable<T>, count: number): Promise<T[]> {
  const items: T[] = []
  if (count === 0) return items
  for await (const item of source) {
    items.push(item)
    if (items.length >= count) break
  }
  return items
}

/** The numbers a stream shows. */
export async function numbersIn(client: EventStoreDBClient, stream: string): Promise<number[]> {
  return (await collect(client.readStream(stream))).map(numberOf)
}

/** Resolves after about as long as a live event takes to be expected at most to appear wrongly. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 150))
}

/** The error a promise is rejected with. Fails the test if it is not one of the class. */
export async function refused<E extends Error>(
  t: Test,
  promise: Promise<unknown>,
  kind: abstract new (...args: never[]) => E,
): Promise<E> {
  const outcome = await promise.then(
    () => new Error('it went through'),
    (error: unknown) => error,
  )
  if (outcome instanceof kind) {
    t.pass(`refused with ${kind.name}`)
    return outcome
  }
  throw outcome
}
