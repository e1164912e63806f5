import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { createBatchedWriter } from '../../../src/storage/postgres/batched-writes.ts'
import { shareFairly } from '../../../src/storage/postgres/pool-share.ts'
import { isOutage } from '../../../src/api/kit/bounds/drain.ts'
import { createTenantQueue } from '../../../src/app/spending/tenant-queue.ts'
import { createSingleFlight } from '../../../src/platform/single-flight.ts'
import { allSettledOrThrow } from '../../../src/kernel/all-settled.ts'
import { runFor, runForAll } from '../../../src/platform/sharer-context.ts'
import { memoizeFor } from '../../../src/platform/memoize.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 8 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
const { perUser, perTenant } = shareFairly(pool)
/** No work that is only slow takes so long. */
const HANGS_MS = 20_000

/** Work that a user asked for, of a tenant of its own unless another is given. */
const as = <Result>(
  user: string,
  work: () => Promise<Result>,
  tenant = `tenant of ${user}`,
): Promise<Result> =>
  new Promise((resolve, reject) =>
    runFor({ user, tenant }, () => void work().then(resolve, reject)),
  )

/** The most connections in use while noisy queries run, and a query of another tenant finds one each time. */
async function mostInUse(t: Test, noisy: readonly Promise<unknown>[]): Promise<number> {
  let most = 0
  const state = { isOver: false }
  const done = allSettledOrThrow(noisy).finally(() => (state.isOver = true))
  while (!state.isOver) {
    await as('quiet', () => pool.query('select 1'))
    most = Math.max(most, pool.totalCount - pool.idleCount)
    t.equal(pool.waitingCount, 0, 'no query waits for the pool itself')
  }
  await done
  return most
}

void t.test('one user on 64 connections holds at most its share of the pool', async (t) => {
  t.same([perUser, perTenant], [4, 6])
  const noisy = Array.from({ length: 64 }, () =>
    as('noisy', () => pool.query('select pg_sleep(0.05)')),
  )
  t.equal(await mostInUse(t, noisy), perUser, 'exactly its share was in use')
})

void t.test('all users of one tenant leave a quarter of the pool to others', async (t) => {
  const noisy = Array.from({ length: 64 }, (_, n) =>
    as(`noisy ${n}`, () => pool.query('select pg_sleep(0.05)'), 'noisy tenant'),
  )
  t.equal(await mostInUse(t, noisy), perTenant)
})

void t.test('failed queries and double releases leave the share whole', async (t) => {
  for (let times = 0; times < 2 * perUser; times += 1) {
    await t.rejects(as('failing', () => pool.query('select nothing from nowhere')))
    await as('failing', async () => {
      const client = await pool.connect()
      client.release()
      t.throws(() => client.release())
    })
  }
  const clients = await as('failing', () =>
    allSettledOrThrow([1, 2, 3, 4].map(() => pool.connect())),
  )
  let hasFifth = false
  const fifth = as('failing', () => pool.connect()).then((client) => {
    hasFifth = true
    return client
  })
  const unbounded = await pool.connect()
  t.equal(hasFifth, false, 'a fifth waits; what no caller asked for does not')
  unbounded.release()
  for (const client of clients) client.release()
  ;(await fifth).release()
})

void t.test('work shared by callers counts in no share', async (t) => {
  const balance = { tenantId: 'tenant_shared', currency: 'CNY' } as const
  const write = createBatchedWriter<number>(pool, (batch) => ({
    text: 'select unnest($1::int[])',
    values: [batch],
  }))
  const decide = createTenantQueue<typeof balance>(pool, {
    decide: () => Promise.resolve({ refusals: Promise.resolve([undefined]) }),
  })
  const flights = createSingleFlight<unknown>()
  const look = memoizeFor(0, () => pool.query('select 1'))
  const shared: Readonly<Record<string, () => Promise<unknown>>> = {
    'batched writes': () => write(1),
    'decisions about a balance': () => decide(balance),
    'single flights': () => flights.run('task', () => pool.query('select 1')),
    'memoized looks': look,
    'waits for a read model': () => waitForPosition(pool, 'tasks', 1n, 10),
    'what says so': () => runForAll(() => pool.query('select 1')),
  }
  // The user that begins each of them has its whole share in use, and waits for more.
  const clients = await as('greedy', () =>
    allSettledOrThrow([1, 2, 3, 4].map(() => pool.connect())),
  )
  for (const [what, work] of Object.entries(shared)) {
    const isOver = await Promise.race([as('greedy', work).then(() => true), sleep(HANGS_MS, false)])
    t.equal(isOver, true, what)
  }
  for (const client of clients) client.release()
})

void t.test('the wait for a share is bounded like the wait for the pool', async (t) => {
  const hasty = new Pool({ connectionString: database.url, max: 2, connectionTimeoutMillis: 200 })
  t.teardown(() => hasty.end())
  t.same(shareFairly(hasty), { perUser: 1, perTenant: 1 })
  const client = await as('nested', () => hasty.connect())
  const late = await as('nested', () => hasty.query('select 1')).catch((error: unknown) => error)
  t.match(late, /timeout exceeded when trying to connect/)
  t.ok(isOutage(late as Error), 'callers are answered as when Postgres is away')
  client.release()
  t.equal((await as('nested', () => hasty.query('select 1'))).rowCount, 1, 'the share is whole')
})
