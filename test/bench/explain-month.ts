import { Pool } from 'pg'
import * as ledger from '../../projections/ledger/query.ts'
import { movementsOf } from '../../src/app/finance/movements.ts'
import { pastBalancesOf } from '../../src/app/finance/past-balances.ts'
import { TimeZone } from '../../src/kernel/time-zone.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { type Figure, percentile } from './figure.ts'
import { type Read, timesOf } from './kit/explained.ts'
import {
  BYTES_A_CALL,
  fillLedger,
  FIRST_MS,
  type Line,
  lineOf,
  oneTenant,
} from './kit/ledger-rows.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

const LINES = sizeFrom('BENCH_EXPLAIN_MONTH_LINES', sized(1_130_000, 20_000))
const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const DAY_MS = 86_400_000

const at = (day: number, ms = 0): number => FIRST_MS + day * DAY_MS + ms
const tenant = { tenantId: 'tenant_0' }

/** Reports of a month of one large tenant; the position is of its middle. */
function month({ position }: Line): Readonly<Record<string, Read>> {
  const zone = TimeZone.named('Asia/Shanghai')
  const { fromMs, toMs } = zone.monthAt(at(15))
  const days = { range: { fromMs, toMs }, periods: zone.daysBetween(fromMs, toMs) }
  const by =
    (...groupBy: readonly ledger.UsageKey[]): Read =>
    (db) =>
      ledger.usage(db, {
        filter: { ...tenant, fromMs, toMs },
        groupBy,
        periods: days.periods,
        withRefunds: true,
      })
  const balance =
    (asOf: bigint, toMs?: number): Read =>
    (db) =>
      pastBalancesOf(db, [tenant.tenantId], { currency: undefined, toMs, asOf })
  const last = BigInt(Math.floor(LINES / 2)) * BigInt(BYTES_A_CALL)
  return {
    'a month by model and user': by('model', 'user'),
    'a month by token and SKU': by('token', 'sku'),
    'a month by day and model': by('day', 'model'),
    'a month by hour and surface': by('hour', 'surface'),
    'a month by project and model': by('tag:project', 'model'),
    'a balance at an instant': balance(last, at(20, 3_600_123)),
    'a balance as of a position at the end of the month': balance(
      last - 1_000n * BigInt(BYTES_A_CALL),
    ),
    'a balance as of a position in the middle': balance(position),
    'movements of the month': (db) =>
      movementsOf(db, { ...tenant, currency: 'CNY', fromMs, toMs, asOf: last, zone, days }),
  }
}

/** Milliseconds that a report may take: one by a tag reads lines, the others read totals. */
function reachOf(name: string): number {
  if (name.includes('balance')) return 200
  return name.includes('project') ? 1_500 : 500
}

/** The 95th percentile of each, because these have readers who wait. */
export async function monthFigures(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  await fillLedger(pool, LINES, oneTenant)
  const figures: Figure[] = []
  for (const [name, read] of Object.entries(month(await lineOf(pool, tenant.tenantId, 15)))) {
    const times = await timesOf(pool, read, ROUNDS * 2)
    const sums = times.map(([executed, planned]) => executed + planned)
    figures.push({
      name,
      value: Number(percentile(sums, 95).toFixed(1)),
      unit: 'ms',
      reach: reachOf(name),
      bound: 'most',
      note: `p95 of ${sums.length}, half within ${percentile(sums, 50).toFixed(0)} ms`,
    })
  }
  await pool.end()
  await database.drop()
  return figures
}
