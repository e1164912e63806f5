import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { lineFile, lineFormats } from '../../src/api/query/line-files.ts'
import { lineFileColumns } from '../../src/app/finance/line-files/columns.ts'
import { writeParquet } from '../../src/app/finance/line-files/parquet.ts'
import { ledgerExports } from '../../src/api/query/projection-reads.ts'
import { anyLines } from '../../src/api/query/reads.ts'
import { boundHeapGrowth } from '../../src/platform/v8-flags.ts'
import { TimeZone } from '../../src/kernel/time-zone.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import type { Figure } from './figure.ts'
import { BYTES_A_CALL, fillLedger, oneTenant } from './kit/ledger-rows.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/** How many lines a second a file of a month of one large tenant is written at, and how much memory that takes. */

const LINES = sizeFrom('BENCH_EXPORT_LINES', sized(1_130_000, 20_000))
const MAX_MIB = 200
const MIB = 1_048_576
/** Lines a second of the processor time of the exporting process, by format. */
const reach = { csv: 100_000, ndjson: 100_000, focus: 60_000, parquet: 35_000 } as const

export async function run(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  await fillLedger(pool, LINES, oneTenant)
  await migrateEngine(pool, allProjections)
  const readModels = { requireCurrent: () => Promise.resolve() }
  const exports = ledgerExports({ db: pool, readModels })
  const zone = TimeZone.named('Asia/Shanghai')
  const filter = {
    ...anyLines,
    tenantId: 'tenant_0',
    fromMs: undefined,
    toMs: undefined,
    asOf: BigInt(LINES) * BigInt(BYTES_A_CALL),
  }
  const figures: Figure[] = []
  for (const format of lineFormats) {
    const terms = {
      issuer: 'gateway.example',
      requirePrices: () => Promise.resolve(),
      accountAt: () =>
        Promise.resolve({ name: 'tenant', userNames: new Map<string, string>(), termsChanges: [] }),
      balancesAt: () => Promise.resolve([]),
      tenants: async function* tenants() {},
      zone,
    }
    const began = {
      cpu: process.cpuUsage(),
      ms: performance.now(),
      rss: process.memoryUsage.rss(),
    }
    let [bytes, mostRss] = [0, 0]
    const taken = (piece: string | Uint8Array): Promise<void> => {
      bytes += piece.length
      mostRss = Math.max(mostRss, process.memoryUsage.rss())
      return Promise.resolve()
    }
    if (format === 'parquet') {
      // A command and the gateway's child bound it, too.
      boundHeapGrowth()
      await writeParquet(taken, lineFileColumns, exports.lines(filter, {}), LINES)
    } else {
      const file = lineFile(exports, { format, filter, hasByteOrderMark: false }, terms)
      for await (const piece of file.pieces) await taken(piece)
    }
    const { user, system } = process.cpuUsage(began.cpu)
    const seconds = (performance.now() - began.ms) / 1_000
    const ofWall = Math.round(LINES / seconds).toLocaleString('en')
    figures.push(
      {
        name: `${format}: lines a second of its own processor time`,
        value: Math.round(LINES / ((user + system) / 1_000_000)),
        unit: 'lines/s',
        reach: reach[format],
        note: `${ofWall} a second with Postgres; ${(bytes / MIB).toFixed(0)} MiB`,
      },
      {
        name: `${format}: resident memory`,
        value: Math.round((mostRss - began.rss) / MIB),
        unit: 'MiB more',
        reach: MAX_MIB,
        bound: 'most',
        note: `${Math.round(mostRss / MIB)} MiB with the benchmark itself`,
      },
    )
  }
  await pool.end()
  await database.drop()
  return figures
}
