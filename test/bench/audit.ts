import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { startProjections } from '../../projections/engine/engine.ts'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { catalog } from '../../src/families/index.ts'
import { keepNewObjectsYoung } from '../../src/platform/v8-flags.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import type { Figure } from './figure.ts'
import { eventsOf, settledLog, SETTLEMENTS_A_ROUND } from './kit/settled-log.ts'
import { sized } from './kit/sizes.ts'

/** How fast every read model is compared with the log, in what memory, and in how long snapshots. */

const LOOK_MS = 250
const AUDITOR = 'audit-bench'

interface Measured {
  readonly ok: boolean
  readonly seconds: number
  /** Processor time, µs. */
  readonly cpuUs: number
  readonly peakMib: number
  readonly halfMib: number
  readonly endMib: number
}

const mib = (bytes: number): number => Math.round(bytes / 1_048_576)

/** The audit in a process of its own: `audit.ts --child URL ROUNDS`; prints what it took. */
async function child(url: string, rounds: number): Promise<Measured> {
  // As the command does.
  keepNewObjectsYoung()
  const options = { max: 4, application_name: AUDITOR, pipeline: true }
  const pool = new Pool({ connectionString: url, ...options })
  const samples: number[] = []
  const watch = setInterval(() => samples.push(process.memoryUsage.rss()), LOOK_MS)
  const cpu = process.cpuUsage()
  const startedMs = performance.now()
  const report = await audit({
    pool,
    log: settledLog(rounds),
    models: allProjections,
    settleTask: (family, success) => catalog.taskFamily(family).settle(success),
  })
  const seconds = (performance.now() - startedMs) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  clearInterval(watch)
  await pool.end()
  if (!report.ok) process.stderr.write(`${JSON.stringify(report.findings.slice(0, 3))}\n`)
  return {
    ok: report.ok,
    seconds,
    cpuUs: user + system,
    peakMib: Math.round(process.resourceUsage().maxRSS / 1_024),
    halfMib: mib(samples[Math.floor(samples.length / 2)] ?? 0),
    endMib: mib(samples.at(-1) ?? 0),
  }
}

/** Waits until every read model has so many events. */
export async function untilBuilt(pool: Pool, events: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ done: boolean }>(
      'select bool_and(events >= $1 and indexed) as done from engine.checkpoints',
      [events],
    )
    if (rows[0]?.done === true) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** The longest any snapshot of the auditor has stood so far, asked until it ends. */
async function longestSnapshot(pool: Pool, ended: Promise<unknown>): Promise<number> {
  const over = new AbortController()
  void ended.finally(() => over.abort())
  let longestMs = 0
  while (!over.signal.aborted) {
    const { rows } = await pool.query<{ ms: number | null }>(
      `select max(extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as ms
       from pg_stat_activity where application_name = $1`,
      [AUDITOR],
    )
    longestMs = Math.max(longestMs, rows[0]?.ms ?? 0)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return longestMs
}

async function measure(settlements: number): Promise<readonly Figure[]> {
  const rounds = Math.ceil(settlements / SETTLEMENTS_A_ROUND)
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 12, pipeline: true })
  await migrateEngine(pool)
  const engine = startProjections({
    pool,
    log: settledLog(rounds),
    projections: allProjections,
    clock: systemClock,
    logger: silentLog,
  })
  await untilBuilt(pool, eventsOf(rounds))
  await engine.stop()
  const script = fileURLToPath(import.meta.url)
  const args = ['--import=tsx', script, '--child', database.url, String(rounds)]
  const auditor = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  auditor.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const longestMs = await longestSnapshot(pool, once(auditor, 'close'))
  await pool.end()
  await database.drop()
  const measured = JSON.parse(said) as Measured
  const size = `${settlements.toLocaleString('en')} settlements`
  return [
    {
      name: `audit of ${size}, ${measured.ok ? 'clean' : 'NOT CLEAN'}`,
      value: Math.round(eventsOf(rounds) / measured.seconds),
      unit: 'events/s',
      reach: 25_000,
      note: `${eventsOf(rounds).toLocaleString('en')} events in ${Math.round(measured.seconds)} s`,
    },
    {
      name: '  processor time of the process',
      value: Math.round(measured.cpuUs / eventsOf(rounds)),
      unit: 'µs per event',
    },
    { name: '  peak memory of the process', value: measured.peakMib, unit: 'MiB' },
    {
      name: '  memory at the end less at half way',
      value: measured.endMib - measured.halfMib,
      unit: 'MiB',
      note: 'flat: about 0',
    },
    { name: '  longest snapshot', value: Math.round(longestMs), unit: 'ms' },
  ]
}

/** @param sizes how many settlements, one audit each: a flat curve is one that does not grow. */
export async function run(
  sizes: readonly number[] = sized([1_000_000, 4_000_000], [2_000, 8_000]),
): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const size of sizes) figures.push(...(await measure(size)))
  return figures
}

if (process.argv[1]?.endsWith('bench/audit.ts') === true) {
  const [, , first, url = '', rounds] = process.argv
  const result =
    first === '--child'
      ? await child(url, Number(rounds))
      : await run(process.argv.length > 2 ? process.argv.slice(2).map(Number) : undefined)
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
}
