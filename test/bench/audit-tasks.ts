import { Pool } from 'pg'
import { startProjections } from '../../projections/engine/engine.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { waitForPosition } from '../../projections/engine/wait.ts'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import type { AnyEvent } from '../../src/domain/any-event.ts'
import { taskStream } from '../../src/domain/task/events.ts'
import type { EventLog, NewEvent } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { eventId } from '../../src/kernel/ids.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { publishBook } from '../app/audit/support/audited.ts'
import { startEventStore, testEventLog } from '../helpers/eventstore.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { openTenant, platformId, Recorder, taskSteps } from '../projections/support/history.ts'
import type { Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** How fast tasks are audited over an event store that is asked over a socket, as in production. */

const CONCURRENCY = 64
const BUILT_MS = 600_000
const metadata = { schemaVersion: 1, correlationId: 'req_bench', commandId: 'bench' }

function toNew(stream: string, events: readonly AnyEvent[], from: number): NewEvent[] {
  return events.map((event, n): NewEvent => {
    return { ...event, id: eventId(stream, 'bench', from + n), metadata }
  })
}

/** Appends tasks in the steps in which the gateway does: each is complete before the worker's next. */
async function fill(log: EventLog, tasks: number): Promise<void> {
  const recorder = new Recorder()
  for (const { stream, revision, type, data } of [
    publishBook(recorder),
    ...openTenant(recorder, 'tenant_1'),
  ])
    await log.append(stream, toNew(stream, [{ type, data } as AnyEvent], Number(revision)), 'any')
  let next = 0
  const work = async (): Promise<void> => {
    for (let n = next++; n < tasks; n = next++) {
      const stream = taskStream(platformId(n))
      const { requested, submitted, running, succeeded, settled } = taskSteps({ n })
      await log.append(stream, toNew(stream, [requested], 0), 'no_stream')
      await log.append(stream, toNew(stream, [submitted, running], 1), 0n)
      await log.append(stream, toNew(stream, [succeeded, settled], 3), 2n)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

/** @param tasks how many tasks of five events each */
export async function run(tasks = sized(50_000, 500)): Promise<readonly Figure[]> {
  const server = await startEventStore()
  const { log, close } = await testEventLog({ server })
  await fill(log, tasks)
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 12, pipeline: true })
  await migrateEngine(pool)
  const from = { pool, log, projections: allProjections }
  const engine = startProjections({ ...from, clock: systemClock, logger: silentLog })
  const end = (await log.endPosition()) ?? 0n
  for (const { name } of allProjections) await waitForPosition(pool, name, end, BUILT_MS)
  await engine.stop()
  let reads = 0
  const counting: EventLog = {
    ...log,
    readStream: async (stream, options) => {
      reads += 1
      return log.readStream(stream, options)
    },
  }
  const cpu = process.cpuUsage()
  const startedMs = performance.now()
  const report = await audit({ pool, log: counting, models: allProjections })
  const seconds = (performance.now() - startedMs) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  await pool.end()
  await database.drop()
  await close()
  await server.stop()
  return [
    {
      name: `audit of ${tasks.toLocaleString('en')} tasks over the event store, ${report.ok ? 'clean' : 'NOT CLEAN'}`,
      value: Math.round(report.tasks / seconds),
      unit: 'tasks/s',
      reach: 4_200,
      note: `${report.events.toLocaleString('en')} events in ${Math.round(seconds)} s`,
    },
    { name: '  streams read besides the log', value: reads, unit: 'readings' },
    {
      name: '  processor time of the process',
      value: Math.round((user + system) / report.tasks),
      unit: 'µs per task',
    },
  ]
}

if (process.argv[1]?.endsWith('bench/audit-tasks.ts') === true) {
  const [, , tasks] = process.argv
  const result = await run(tasks === undefined ? undefined : Number(tasks))
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
}
