import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { startProjections } from '../../projections/engine/engine.ts'
import { allProjections } from '../../projections/registry.ts'
import type { EventLog, NewEvent, RecordedEvent } from '../../src/eventlog/log/types.ts'
import { createEventLog } from '../../src/eventlog/log/client.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { migrateDatabase } from '../../src/start/migration.ts'
import { auditInChild } from '../../src/start/nightly-audit.ts'
import { newNamespace, startEventStore } from '../helpers/eventstore.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { untilBuilt } from './audit.ts'
import { type Benchmark, type Figure, percentile } from './figure.ts'
import { type Closers, tell, withClosers } from './kit/closers.ts'
import { paced } from './kit/paced.ts'
import { eventsOf, settledLog } from './kit/settled-log.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { startTollgate, startUpstream, tryOut } from './kit/text-rows.ts'

/**
 * How long callers wait while the nightly audit of a day reads another event store and Postgres on the same
 * processors, and without it, in turns.
 */

const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(2, 1))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(15, 2))
const EVENTS = sizeFrom('BENCH_AUDIT_EVENTS', sized(1_000_000, 9_000))
const PER_SECOND = sized(200, 50)
const CONNECTIONS = 512
/** Appends at once. */
const WRITERS = 64
/** Events of an append. */
const MOST_EVENTS = 200

/** Writes a log: streams side by side, each in its order. */
async function copyLog(from: EventLog, to: EventLog): Promise<void> {
  const waiting = new Map<string, NewEvent[]>()
  const ends = new Map<string, bigint>()
  const write = async (stream: string): Promise<void> => {
    const events = waiting.get(stream) ?? []
    waiting.delete(stream)
    const end = ends.get(stream)
    ends.set(stream, (end ?? -1n) + BigInt(events.length))
    await to.append(stream, events, end ?? 'no_stream')
  }
  const flush = async (): Promise<void> => {
    const streams = [...waiting.keys()]
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (let stream = streams.pop(); stream !== undefined; stream = streams.pop())
          await write(stream)
      }),
    )
  }
  let held = 0
  for await (const event of from.readAll()) {
    const events = waiting.get(event.stream) ?? []
    waiting.set(event.stream, events)
    events.push(newEventOf(event))
    held += 1
    // Prices and tenants come before all that is settled.
    const isFirst = !/^(?:task|journal)-/.test(event.stream)
    if (!isFirst && events.length < MOST_EVENTS && held < WRITERS * MOST_EVENTS) continue
    await flush()
    held = 0
  }
  await flush()
}

function newEventOf({ id, type, data, metadata }: RecordedEvent): NewEvent {
  return { id, type, data, metadata } as NewEvent
}

/** A day in other stores, with its read models; audits it from the start. */
async function startDay(closers: Closers): Promise<(signal: AbortSignal) => Promise<void>> {
  const store = closers.add(await startEventStore())
  const database = await acquireDatabase()
  closers.later(() => database.drop())
  const pool = new Pool({ connectionString: database.url, max: 16, pipeline: true })
  closers.later(() => pool.end())
  await migrateDatabase(pool)
  const namespace = newNamespace()
  const log = createEventLog({ url: store.url, namespace })
  closers.later(() => log.close())
  const rounds = Math.ceil(EVENTS / (eventsOf(1) - eventsOf(0)))
  tell(`audit-load: writes ${eventsOf(rounds).toLocaleString('en')} events`)
  await copyLog(settledLog(rounds), log)
  const parts = { projections: allProjections, clock: systemClock, logger: silentLog }
  const engine = startProjections({ pool, log, ...parts })
  await untilBuilt(pool, eventsOf(rounds))
  await engine.stop()
  return async (signal) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-audit-load-'))
    try {
      const stores = { eventStoreUrl: store.url, databaseUrl: database.url, logger: silentLog }
      const outcome = await auditInChild({ config: { dataDir, namespace }, ...stores }, signal)
      if (outcome === undefined || outcome === 'led' || outcome.report.findingsInAll > 0)
        throw new Error(`the audit ended with ${JSON.stringify(outcome)}`)
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  }
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url)
    await tryOut(row)
    const durable = { ...row, tokens: await gateway.tenants(TENANTS) }
    const audit = await startDay(closers)
    const bounds = { perSecond: PER_SECOND, warmUpSeconds: 2, connections: CONNECTIONS }
    let seed = 0
    const load = async (seconds: number): Promise<readonly number[]> => {
      seed += 1
      return (await paced(durable, { ...bounds, seconds, seed })).micros
    }
    await load(2 * SECONDS)
    const quiet: number[] = []
    const audited: number[] = []
    const tookMs: number[] = []
    for (let round = 1; round <= ROUNDS; round += 1) {
      await gateway.settled()
      const beganMs = performance.now()
      const over = new AbortController()
      const auditing = audit(over.signal).finally(() => over.abort())
      auditing.catch(() => undefined)
      let turns = 0
      for (; !over.signal.aborted; turns += 1)
        for (const time of await load(SECONDS)) audited.push(time)
      await auditing
      tookMs.push(performance.now() - beganMs)
      tell(`audit-load, round ${round}: an audit in ${turns} turns`)
      await gateway.settled()
      for (; turns > 0; turns -= 1) for (const time of await load(SECONDS)) quiet.push(time)
      tell(`audit-load, round ${round}: without one`)
    }
    const figure = (kind: string, micros: readonly number[], p: number): Figure => ({
      name: `callers at ${PER_SECOND}/s ${kind}, p${p}`,
      value: percentile(micros, p) / 1_000,
      unit: 'ms',
    })
    return [
      ...[50, 99].flatMap((p) => [
        figure('without an audit', quiet, p),
        figure('while a day is audited', audited, p),
      ]),
      {
        name: `p99 while a day of ${EVENTS.toLocaleString('en')} events is audited, by that without`,
        value: percentile(audited, 99) / percentile(quiet, 99),
        unit: '',
        reach: 1.1,
        bound: 'most',
      },
      { name: 'the audit takes', value: Math.max(...tookMs) / 1_000, unit: 's' },
    ]
  })
