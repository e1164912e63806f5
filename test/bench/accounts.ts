import { catalog } from '../../src/families/index.ts'
import { randomBytes } from 'node:crypto'
import { Pool, type PoolClient } from 'pg'
import { accessProjection } from '../../projections/access/projection.ts'
import { indexFollower, prepareFollower } from '../../projections/engine/follower.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import type { Projection } from '../../projections/engine/types.ts'
import { ledgerProjection } from '../../projections/ledger/projection.ts'
import { usage, type UsageKey } from '../../projections/ledger/query.ts'
import { tasksProjection } from '../../projections/tasks/projection.ts'
import { timelineProjection } from '../../projections/timeline/projection.ts'
import { createAuthenticator } from '../../src/app/access/authenticate.ts'
import { readSpent } from '../../src/app/spending/budgets/spent.ts'
import { findReceipt } from '../../src/app/finance/receipts/find.ts'
import type { EventLog, RecordedEvent } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { sha256Hex } from '../../src/kernel/ids.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { TimeZone } from '../../src/kernel/time-zone.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { Recorder, recordCall } from '../projections/support/history.ts'
import { type Figure, percentile } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** What it costs to know who calls, and how long finance waits: tokens, usage of a month, receipts, budgets. */

const TOKENS = sized(100_000, 1_000)
const SETTLEMENTS = sized(1_000_000, 2_000)
const SAMPLES = sized(200, 5)
const RECEIPTS = sized(2_000, 20)
const BATCH_EVENTS = 1_000
const DAYS = 30
const DAY_MS = 86_400_000
const MONTH_MS = Date.parse('2026-04-01T00:00:00.000Z')
const TENANT = 'tenant_1'
const USERS = 20
const TENANT_TOKENS = 50
const MODELS = 10

const pairs: readonly (readonly UsageKey[])[] = [
  ['day', 'model'],
  ['day', 'token'],
  ['user', 'sku'],
  ['token', 'model'],
]

function times(name: string, samples: readonly number[], mostMs?: number): readonly Figure[] {
  return [50, 99].map((p) => ({
    name: `${name}, p${p}`,
    value: Number(percentile(samples, p).toFixed(3)),
    unit: 'ms',
    ...(p === 99 && mostMs !== undefined ? { reach: mostMs, bound: 'most' as const } : {}),
  }))
}

async function timed(count: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = []
  for (let n = 0; n < count; n += 1) {
    const startedMs = performance.now()
    await work(n)
    samples.push(performance.now() - startedMs)
  }
  return samples
}

/** Tokens as their issue leaves them, by SQL, and the secrets. */
async function fillTokens(pool: Pool): Promise<readonly string[]> {
  const secrets = Array.from({ length: TOKENS }, () => `sk-${randomBytes(32).toString('hex')}`)
  await pool.query(
    `insert into access.tokens (token_id, tenant_id, user_id, kind, name, search_name, issued_at, last_four, position)
     select 'tok_' || n, 'tenant_' || n % 100, 'user_' || n % 1000, 'model', 'bench', 'bench', now(), 'abcd', n
     from generate_series(1, $1::int) n`,
    [TOKENS],
  )
  await pool.query(
    `insert into access.secrets (secret_hash, token_id)
     select hash, 'tok_' || n from unnest($1::text[]) with ordinality as s (hash, n)`,
    [secrets.map((secret) => sha256Hex(secret))],
  )
  await pool.query('vacuum (analyze) access.tokens, access.secrets')
  return secrets
}

async function authentication(pool: Pool): Promise<readonly Figure[]> {
  await prepareFollower(pool, accessProjection, systemClock)
  const secrets = await fillTokens(pool)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  const { authenticate } = createAuthenticator({
    catalog,
    pool,
    // Only asked of what does not exist.
    log: { endPosition: () => Promise.resolve(undefined) } as unknown as EventLog,
    clock: systemClock,
    logger: silentLog,
  })
  const ask = async (n: number): Promise<void> => {
    const answer = await authenticate(secrets[(n * 7_919) % secrets.length] ?? '')
    if (!answer.ok) throw new Error(`a token is ${answer.reason}`)
  }
  const first = await timed(TOKENS, ask)
  const grown = process.memoryUsage().rss - before
  const again = await timed(TOKENS, ask)
  const of = `of ${TOKENS.toLocaleString('en')} tokens`
  return [
    ...times(`authentication ${of}, each known`, again, 0.05),
    ...times(`authentication ${of}, each for the first time`, first),
    {
      name: `memory once all ${of} were seen`,
      value: Math.round(grown / 1024 / 1024),
      unit: 'MiB',
      note: 'growth of this process, its measuring included',
    },
  ]
}

function* month(): Generator<RecordedEvent> {
  const recorder = new Recorder()
  for (let n = 0; n < SETTLEMENTS; n += 1) {
    const event = recordCall(recorder, n, n % 10 === 0 ? 'tenant_2' : TENANT)
    if (event.type !== 'CallSettled') continue
    const settledAt = new Date(MONTH_MS + Math.floor((n / SETTLEMENTS) * DAYS * DAY_MS))
    yield {
      ...event,
      metadata: { ...event.metadata, correlationId: event.data.requestId },
      data: {
        ...event.data,
        userId: `user_${n % USERS}`,
        tokenId: `tok_${(n * 31) % TENANT_TOKENS}`,
        model: `model-${(n * 17) % MODELS}`,
        settledAt: settledAt.toISOString(),
      },
    }
  }
}

async function fillMonth(pool: Pool): Promise<void> {
  const projections: readonly Projection[] = [ledgerProjection, timelineProjection, tasksProjection]
  const followers = []
  for (const projection of projections)
    followers.push(await prepareFollower(pool, projection, systemClock))
  const write = async (client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> => {
    for (const projection of [ledgerProjection, timelineProjection]) {
      await client.query(
        `begin; set local synchronous_commit to off; set local timezone to 'UTC';
         set local search_path to ${projection.name}`,
      )
      await projection.apply(client, batch)
      await client.query('commit')
    }
  }
  const client = await pool.connect()
  try {
    let batch: RecordedEvent[] = []
    for (const event of month()) {
      batch.push(event)
      if (batch.length < BATCH_EVENTS) continue
      await write(client, batch)
      batch = []
    }
    if (batch.length > 0) await write(client, batch)
  } finally {
    client.release(true)
  }
  for (const follower of followers) await indexFollower(pool, follower)
  for (const table of ['summed_days', 'summed_hours', 'summed_quarters', 'lines'])
    await pool.query(`vacuum (analyze) ledger.${table}`)
  await pool.query('vacuum (analyze) timeline.events')
}

async function finance(pool: Pool): Promise<readonly Figure[]> {
  await fillMonth(pool)
  const zone = TimeZone.named('Asia/Kolkata')
  const range = { fromMs: MONTH_MS, toMs: MONTH_MS + DAYS * DAY_MS }
  const days = zone.daysBetween(range.fromMs, range.toMs)
  const usages: Figure[] = []
  for (const groupBy of pairs) {
    const samples = await timed(SAMPLES, async () => {
      const found = await usage(pool, {
        filter: { tenantId: TENANT, ...range },
        groupBy,
        periods: days,
      })
      if (found.length === 0) throw new Error('nothing was used')
    })
    const by = groupBy.join(' and ')
    const of = SETTLEMENTS.toLocaleString('en')
    usages.push(...times(`usage of a month of ${of} settlements by ${by}`, samples, 100))
  }
  const receipts = await timed(RECEIPTS, async (n) => {
    const call = (n * 104_729) % SETTLEMENTS
    const id = [`call_${call}`, `req_call_${call}`, `call_${call}:1`][n % 3] ?? ''
    const found = await findReceipt(pool, id, {}, { catalog, asOf: 2n ** 62n })
    if (found === undefined) throw new Error(`no receipt of ${id}`)
  })
  const budgets = await timed(SAMPLES, () => readSpent(pool, TENANT, range))
  const of = SETTLEMENTS.toLocaleString('en')
  return [
    ...usages,
    ...times(`receipt among ${of} settlements, by call, request and line`, receipts, 20),
    ...times(`what a budget of a month has spent, of ${of} settlements`, budgets),
  ]
}

export async function run(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4, pipeline: true })
  try {
    await migrateEngine(pool)
    return [...(await authentication(pool)), ...(await finance(pool))]
  } finally {
    await pool.end()
    await database.drop()
  }
}
