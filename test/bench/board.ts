import { Pool } from 'pg'
import { indexFollower, prepareFollower } from '../../projections/engine/follower.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { readZone } from '../../src/api/query/time-range.ts'
import type { Principal } from '../../src/app/access/principal.ts'
import { boardPageOf } from '../../src/app/finance/statements/board-page.ts'
import { boardOf } from '../../src/app/finance/statements/board.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import { renderPage } from '../../src/console/kit/layout.tsx'
import { zoneClock } from '../../src/console/kit/values.tsx'
import { type ConsoleServices, Redirect, Unchanged } from '../../src/console/page.tsx'
import { boardPage } from '../../src/console/periods/board.tsx'
import { createLateFailures } from '../../src/console/periods/late-failures.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { type Figure, percentile } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** How long the board of a month takes where there are many tenants, each with two currencies and closed months. */

const TENANTS = sized(2_000, 100)
const CLOSED_MONTHS = 24
const SAMPLES = sized(60, 5)
/** A page costs half as much once its code is compiled. */
const WARM_UP_PAGES = sized(400, 5)
const LAST_CLOSED = '2025-12'
const NOW_MS = Date.parse('2026-02-10T00:00:00Z')
/** About what a close has as JSON, without its rows. */
const CLOSE_CHARACTERS = 1_500

/** Tenants, their billing details, balances and closes as their events leave them. */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `insert into access.tenants (tenant_id, name, search_name, opened_at, position)
     select 'tenant_' || n, 'T', 't', timestamptz '2024-01-01', n from generate_series(1, $1::int) n`,
    [TENANTS],
  )
  await pool.query(
    `insert into access.accounts (tenant_id, slot, revision, type, data, position)
     select 'tenant_' || n, 'BillingProfileSet', 1, 'BillingProfileSet', json_build_object(
       'timeZone', (array['Asia/Shanghai', 'Europe/Berlin', 'UTC'])[1 + n % 3], 'graceHours', 72, 'revision', 1), n
     from generate_series(1, $1::int) n`,
    [TENANTS],
  )
  await pool.query(
    `insert into ledger.balances
       (tenant_id, currency, granted, adjusted, refunded, expired, credit_limit, settled, held, position)
     select 'tenant_' || n, currency, 1, 0, 0, 0, 0, 0, 0, n
     from generate_series(1, $1::int) n, unnest(array['CNY', 'USD']) currency`,
    [TENANTS],
  )
  await pool.query(
    `insert into statements.periods
       (tenant_id, period_id, currency, month, n, statement, state, closed, sums, refunds, position)
     select 'tenant_' || n, 'CNY/' || k || '/1', 'CNY', month, k, 'A-' || k, 'closed', json_build_object(
       'tenantId', 'tenant_' || n, 'currency', 'CNY', 'month', month, 'n', k, 'attempt', 1,
       'checkpoint', repeat('x', $3)), '[]', '[]', n
     from generate_series(1, $1::int) n, generate_series(1, $2::int) k,
       to_char(date '2023-12-01' + k * interval '1 month', 'YYYY-MM') month`,
    [TENANTS, CLOSED_MONTHS, CLOSE_CHARACTERS],
  )
  for (const projection of allProjections)
    await indexFollower(pool, await prepareFollower(pool, projection, systemClock))
  await pool.query('vacuum (analyze)')
}

const operator: Principal = {
  tokenId: 'token_1',
  tenantId: 'operator',
  userId: 'ann',
  kind: 'admin',
  models: undefined,
  addresses: undefined,
  limits: undefined,
  scope: { level: 'all_tenants' },
  role: undefined,
}

/** The page of the console: the first rows of the board, made as its route makes it. */
async function pageFigures(deps: Parameters<typeof boardPageOf>[0]): Promise<readonly Figure[]> {
  const { read, show, title } = boardPage(createLateFailures())
  const statements = {
    boardPage: (input: Parameters<typeof boardPageOf>[1]) => boardPageOf(deps, input),
  }
  // The page reads nothing else.
  const services = { queries: { statements }, clock: deps.clock } as unknown as ConsoleServices
  const view = {
    clock: zoneClock('UTC', readZone('UTC')),
    nowMs: NOW_MS,
    token: operator,
    requestKey: 'note_1',
    viewReasonFor: () => undefined,
    fault: undefined,
  }
  const make = async (month: string): Promise<void> => {
    const who = { ...operator, kind: 'query' as const }
    const facts = await read(services, who, { id: '', query: { month }, token: operator })
    if (facts instanceof Redirect || facts instanceof Unchanged) throw new Error('no page')
    const children = show(facts, view)
    const page = renderPage({
      title: title(facts),
      path: '/console/periods',
      reader: undefined,
      children,
    })
    if (!page.includes('tenant_1')) throw new Error(page)
  }
  const figures: Figure[] = []
  for (const [what, month] of [
    ['half of the accounts are closed', LAST_CLOSED],
    ['all are open', '2026-01'],
  ] as const) {
    for (let n = 0; n < WARM_UP_PAGES; n += 1) await make(month)
    const samples: number[] = []
    const before = process.cpuUsage()
    for (let n = 0; n < SAMPLES; n += 1) {
      const startedMs = performance.now()
      await make(month)
      samples.push(performance.now() - startedMs)
    }
    const { user, system } = process.cpuUsage(before)
    const name = `page of the board of ${TENANTS.toLocaleString('en')} tenants, ${what}`
    const cpuMs = (user + system) / 1_000 / SAMPLES
    figures.push(
      {
        name: `${name}, p95`,
        value: Math.round(percentile(samples, 95)),
        unit: 'ms',
        reach: 200,
        bound: 'most',
        note: `p50 ${Math.round(percentile(samples, 50))} ms`,
      },
      {
        name: `${name}, of the gateway's process`,
        value: Math.round(cpuMs * 10) / 10,
        unit: 'ms CPU a page',
        reach: 6,
        bound: 'most',
      },
    )
  }
  return figures
}

export async function run(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4 })
  await migrateEngine(pool, allProjections)
  await migrateOps(pool)
  await fill(pool)
  const deps = {
    db: pool,
    // An empty log: the ledger has all of it, and no issuer is set.
    log: {
      readStream: () => Promise.resolve([]),
      endPosition: () => Promise.resolve(undefined),
    } as unknown as EventLog,
    clock: { nowMs: () => NOW_MS },
    issuerName: 'gateway.example',
  }
  const figures: Figure[] = []
  for (const [what, month] of [
    ['half of the accounts are closed', LAST_CLOSED],
    ['all are open', '2026-01'],
  ] as const) {
    const samples: number[] = []
    for (let n = 0; n < SAMPLES; n += 1) {
      const startedMs = performance.now()
      const rows = await boardOf(deps, { month, tenantIds: undefined })
      samples.push(performance.now() - startedMs)
      if (rows.length !== 2 * TENANTS) throw new Error(`the board has ${rows.length} rows`)
    }
    figures.push({
      name: `board of ${TENANTS.toLocaleString('en')} tenants in two currencies, ${what}, p95`,
      value: Math.round(percentile(samples, 95)),
      unit: 'ms',
      reach: 200,
      bound: 'most',
      note: `p50 ${Math.round(percentile(samples, 50))} ms`,
    })
  }
  figures.push(...(await pageFigures(deps)))
  await pool.end()
  await database.drop()
  return figures
}
