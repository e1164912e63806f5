import { pathToFileURL } from 'node:url'
import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { figuresOf } from '../../src/app/finance/statements/figures.ts'
import { readLeaves } from '../../src/app/finance/statements/leaves.ts'
import { createJobProcess, type JobProcess } from '../../src/app/finance/statements/process.ts'
import { proveLeaf, storeTree } from '../../src/app/finance/statements/tiles.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { launchStatements } from '../../src/start/statements.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { type Figure, percentile } from './figure.ts'
import { build, compiled } from './kit/build.ts'
import { cpuMs } from './kit/cpu.ts'
import { BYTES_A_CALL, fillLedger, oneTenant } from './kit/ledger-rows.ts'
import { peakMib } from './kit/process.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/** How long a month of one large tenant takes to be closed, and how much memory the child then has. */

/** A seventh of the lines is in the other currency. */
const LINES = sizeFrom('BENCH_CLOSE_LINES', sized(1_160_000, 20_000))
const PROOFS = 200
const account = { tenantId: 'tenant_0', currency: 'CNY' } as const

async function timed<Value>(work: () => Promise<Value>): Promise<[Value, number]> {
  const beganMs = performance.now()
  const value = await work()
  return [value, performance.now() - beganMs]
}

/** Fills a database with the month of one large tenant. */
export async function fillMonth(pool: Pool): Promise<void> {
  await fillLedger(pool, LINES, oneTenant)
  await migrateEngine(pool, allProjections)
  await migrateOps(pool)
}

/** The child that does the jobs of statements, as a gateway starts it. */
export function startJobs(databaseUrl: string): JobProcess {
  const module = pathToFileURL(compiled('src/cli/statements-process'))
  return createJobProcess({
    launch: () => launchStatements(databaseUrl, module),
    logger: silentLog,
  })
}

/** The figures of that month, and the job of its tree. */
export async function monthOf(pool: Pool) {
  const [fromMs, toMs] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2026-02-01T00:00:00Z')]
  const asOf = BigInt(LINES) * BigInt(BYTES_A_CALL)
  const { figures, bounds } = await figuresOf(pool, {
    ...account,
    fromMs,
    toMs,
    asOf,
    standing: [],
  })
  const first = JSON.stringify(['close', 1, ...Array.from({ length: 23 }, () => null)])
  const job = { ...bounds, asOf: String(asOf), since: String(bounds.since), first }
  return { figures, bounds, job }
}

export async function run(): Promise<readonly Figure[]> {
  await build()
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 2 })
  await fillMonth(pool)
  const child = startJobs(database.url)
  const [{ figures, bounds, job }, figuresMs] = await timed(() => monthOf(pool))
  const [tree, treeMs] = await timed(() => child.run('tree', job))
  const pid = child.pid() ?? 0
  const memoryMib = Math.round(peakMib(pid))
  const childSeconds = ((await cpuMs(pid))['own'] ?? 0) / 1_000
  await child.stop()
  const key = { tenantId: account.tenantId, periodId: 'CNY/1/1' }
  const [, storeMs] = await timed(() => storeTree(pool, key, tree))
  const root = Buffer.from(tree.root, 'base64')
  const closed = { ...key, bounds, first: job.first, size: tree.size, root }
  const times: number[] = []
  for (let n = 0; n < PROOFS; n += 1) {
    const from = tree.tiles[(n * 7_919) % tree.tiles.length]?.first ?? undefined
    const pages = readLeaves(pool, bounds, { from, pageRows: 1 })
    const { value } = await pages.next()
    await pages.return(undefined)
    const [leaf] = value ?? []
    const [proof, ms] = await timed(() => proveLeaf(pool, closed, leaf))
    if (proof === undefined) throw new Error('a leaf has no proof')
    times.push(ms)
  }
  await pool.end()
  await database.drop()
  const postings = figures.postings.toLocaleString('en')
  const most = { bound: 'most' } as const
  return [
    { name: `figures of ${postings} postings`, value: Math.round(figuresMs), unit: 'ms' },
    {
      name: `figures, tree and tiles of ${postings} postings`,
      value: Number(((figuresMs + treeMs + storeMs) / 1_000).toFixed(1)),
      unit: 's',
      reach: 25,
      ...most,
      note: `${(treeMs / 1_000).toFixed(1)} s of it for the child, which begins with it and has a low priority`,
    },
    { name: 'processor time of the child', value: Number(childSeconds.toFixed(1)), unit: 's' },
    { name: 'resident memory of the child', value: memoryMib, unit: 'MiB', reach: 250, ...most },
    {
      name: 'one proof, p99',
      value: Number(percentile(times, 99).toFixed(1)),
      unit: 'ms',
      reach: 50,
      ...most,
      note: `p50 ${percentile(times, 50).toFixed(1)} ms`,
    },
  ]
}
