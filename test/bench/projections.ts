import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { startProjections } from '../../projections/engine/engine.ts'
import { rebuildProjection } from '../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../projections/ledger/projection.ts'
import { tasksProjection } from '../../projections/tasks/projection.ts'
import { timelineProjection } from '../../projections/timeline/projection.ts'
import { eventsThrough } from '../../src/eventlog/log/position.ts'
import type { EventLog, ReadAllOptions, RecordedEvent } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { overlappingTasks, Recorder } from '../projections/support/history.ts'
import type { Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** How fast the ledger, the tasks and the timeline together are built from nothing, and in what memory. */

const EVENTS_PER_TASK = 5
/** Tasks under way at any time: their events lie this far apart in the log. */
const WIDTH = 500
const TENANTS = 50
const MEMORY_INTERVAL_MS = 250

function* generate(tasks: number): Generator<RecordedEvent> {
  yield* overlappingTasks(new Recorder(), {
    tasks,
    width: WIDTH,
    shape: (n) => ({ tenantId: `tenant_${n % TENANTS}` }),
  })
}

/** A log that makes its events as they are read: it costs the reader little and keeps nothing. */
function generatedLog(tasks: number): EventLog & { readonly spentMs: () => number } {
  let spentMs = 0
  async function* readAll(options: ReadAllOptions = {}): AsyncGenerator<RecordedEvent> {
    const from = options.from === undefined ? -1n : eventsThrough(options.from)
    const events = generate(tasks)
    for (;;) {
      const startedMs = performance.now()
      const next = events.next()
      spentMs += performance.now() - startedMs
      if (next.done === true) return
      if (next.value.position > from) yield next.value
    }
  }
  const unused = async (): Promise<never> => Promise.reject(new Error('this log only reads'))
  return {
    readAll,
    spentMs: () => spentMs,
    subscribe: async function* ({ from, signal }) {
      for await (const event of readAll(from === undefined ? {} : { from }))
        yield { kind: 'event', event }
      yield { kind: 'caughtUp' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
    append: unused,
    readStream: unused,
    endPosition: unused,
    healthy: () => true,
    ready: async () => Promise.resolve(),
    passed: () => undefined,
    denial: () => undefined,
    checkAccess: async () => Promise.resolve(undefined),
    close: async () => Promise.resolve(),
  }
}

async function untilBuilt(pool: Pool, events: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ done: boolean }>(
      'select bool_and(events >= $1 and indexed) and count(*) = 3 as done from engine.checkpoints',
      [events],
    )
    if (rows[0]?.done === true) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** @param events how many, a multiple of five. */
export async function run(events = sized(1_000_000, 5_000)): Promise<readonly Figure[]> {
  const tasks = Math.floor(events / EVENTS_PER_TASK)
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 12, pipeline: true })
  await migrateEngine(pool)
  const log = generatedLog(tasks)
  let peakBytes = 0
  const samples: number[] = []
  const watch = setInterval(() => {
    const { rss } = process.memoryUsage()
    peakBytes = Math.max(peakBytes, rss)
    samples.push(rss)
  }, MEMORY_INTERVAL_MS)
  const projections = [ledgerProjection, tasksProjection, timelineProjection]
  const cpuBefore = process.cpuUsage()
  const startedMs = performance.now()
  const engine = startProjections({ pool, log, projections, clock: systemClock, logger: silentLog })
  await untilBuilt(pool, tasks * EVENTS_PER_TASK)
  const seconds = (performance.now() - startedMs) / 1_000
  const cpu = process.cpuUsage(cpuBefore)
  await engine.stop()
  clearInterval(watch)
  const half = samples[Math.floor(samples.length / 2)] ?? 0
  const last = samples.at(-1) ?? 0

  const rebuildStartedMs = performance.now()
  const rebuilt = await rebuildProjection({ pool, log, projection: ledgerProjection })
  const rebuildSeconds = (performance.now() - rebuildStartedMs) / 1_000
  await pool.end()
  await database.drop()
  const size = `${tasks * EVENTS_PER_TASK} events`
  const mib = (bytes: number): number => Math.round(bytes / 1_048_576)
  return [
    {
      name: `ledger + tasks + timeline from ${size}`,
      value: Math.round((tasks * EVENTS_PER_TASK) / seconds),
      unit: 'events/s',
      reach: 15_000,
    },
    {
      name: '  of it making the events, not the engine',
      value: Math.round(log.spentMs() / 1_000),
      unit: `s of ${seconds.toFixed(1)} s`,
    },
    {
      name: '  processor time of this process',
      value: Math.round((cpu.user + cpu.system) / (tasks * EVENTS_PER_TASK)),
      unit: 'µs per event',
    },
    {
      name: '  peak memory of the process',
      value: mib(peakBytes),
      unit: 'MiB',
      reach: 300,
      bound: 'most',
    },
    {
      name: '  memory at the end less at half way',
      value: mib(last - half),
      unit: 'MiB',
      note: 'flat: about 0',
    },
    {
      name: `ledger rebuilt beside itself, compared, ${rebuilt.outcome}`,
      value: Math.round((tasks * EVENTS_PER_TASK) / rebuildSeconds),
      unit: 'events/s',
    },
  ]
}

if (process.argv[1]?.endsWith('bench/projections.ts') === true)
  process.stdout.write(
    `${JSON.stringify(await run(Number(process.argv[2] ?? 1_000_000)), null, 2)}\n`,
  )
