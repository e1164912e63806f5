import { Pool, type PoolClient } from 'pg'
import t, { type Test } from 'tap'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { allMigrations, migrateOps } from '../../../src/app/migrations.ts'
import { migrateEngine } from '../../../projections/engine/migrate.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'

/** The schema as every start made it before migrations were numbered. */
const UNNUMBERED_DDL = `
create schema if not exists ops;

create table if not exists ops.admissions (
  platform_id text primary key,
  tenant_id text not null,
  currency text not null,
  hold numeric(38, 12) not null,
  -- Log position of the TaskRequested that carries the hold, once it is known.
  position bigint,
  admitted_at timestamptz not null default now()
);
alter table ops.admissions add column if not exists token_id text;
drop index if exists ops.admissions_tenant;
-- What is not projected by a position is found without passing what is.
create index if not exists admissions_unprojected
  on ops.admissions (tenant_id, currency, (coalesce(position, 9223372036854775807)));
create index if not exists admissions_age on ops.admissions (admitted_at) where position is null;

create table if not exists ops.task_urls (
  platform_id text primary key,
  urls jsonb not null,
  expires_at timestamptz not null
);
create index if not exists task_urls_expiry on ops.task_urls (expires_at);

-- What is used of limits per minute, by all replicas together. Written about once a second and worth
-- nothing two minutes later: a crash of Postgres may empty it.
create unlogged table if not exists ops.rate_use (
  token_id text not null,
  measure text not null,
  per_minute double precision not null,
  used double precision not null,
  at timestamptz not null,
  primary key (token_id, measure)
) with (fillfactor = 50);

-- What each replica's text calls speak for of a balance: holds in flight, and settlements that the
-- ledger may lack. Told anew about once a second: a crash of Postgres may empty it.
create unlogged table if not exists ops.text_spending (
  tenant_id text not null,
  currency text not null,
  replica text not null,
  held numeric(38, 12) not null,
  settled numeric(38, 12) not null,
  -- Log position of the last of the settlements; null where one of them has none yet.
  position bigint,
  -- What a replica tells may overtake what it told before: the highest turn counts.
  turn bigint not null,
  told_at timestamptz not null,
  primary key (tenant_id, currency, replica)
) with (fillfactor = 50);

create table if not exists ops.workers (
  owner text primary key,
  seen_at timestamptz not null
);
`

async function emptyDatabase(t: Test): Promise<Pool> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 6 })
  pool.on('error', () => undefined)
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

interface Applied {
  readonly owner: string
  readonly number: number
  readonly appliedAt: string
}

async function applied(pool: Pool): Promise<readonly Applied[]> {
  const { rows } = await pool.query<Applied>(
    `select owner, number, applied_at::text as "appliedAt" from ops.migrations
     order by owner, number`,
  )
  return rows
}

/** A pool that lends this connection and no other. */
function onlyWith(client: PoolClient): Pool {
  const lent = new Proxy(client, {
    get: (target, name) => (name === 'release' ? () => undefined : Reflect.get(target, name)),
  })
  return { connect: async () => lent } as unknown as Pool
}

/** Columns and indexes of the schema. */
async function shape(pool: Pool): Promise<unknown> {
  const { rows: columns } = await pool.query(
    `select table_name, column_name, data_type, is_nullable, column_default
     from information_schema.columns where table_schema = 'ops' order by 1, 2`,
  )
  const { rows: indexes } = await pool.query(
    `select indexname, indexdef from pg_indexes where schemaname = 'ops' order by 1`,
  )
  const { rows: tables } = await pool.query(
    `select relname, relpersistence, reloptions from pg_class
     where relnamespace = 'ops'::regnamespace and relkind = 'r' order by 1`,
  )
  return { columns, indexes, tables }
}

const EVERY_ONE = allMigrations
  .flatMap(({ owner, steps }) => steps.map((_, index) => ({ owner, number: index + 1 })))
  .sort((a, b) => a.owner.localeCompare(b.owner) || a.number - b.number)

t.test('an empty database gets every table of every owner, once', async (t) => {
  const pool = await emptyDatabase(t)
  await migrateOps(pool)
  const first = await applied(pool)
  t.same(
    first.map(({ owner, number }) => ({ owner, number })),
    EVERY_ONE,
  )
  t.same(
    [...new Set(first.map(({ owner }) => owner))],
    [
      'assets',
      'balance-alerts',
      'call-claims',
      'console-sessions',
      'installation',
      'last-audit',
      'last-uses',
      'refusals',
      'secret',
      'spending',
      'statements',
      'tasks',
      'tasks/watch',
      'throttle',
      'upload-days',
      'uploads',
    ],
  )
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'ops'::regnamespace and relkind = 'r' order by 1`,
  )
  t.same(
    rows.map(({ name }) => name),
    [
      'admissions',
      'asset_work',
      'call_claims',
      'calls_under_way',
      'console_sessions',
      'installation',
      'kept_answers',
      'last_audit',
      'low_balances',
      'marker_secret',
      'migrations',
      'period_late',
      'period_tiles',
      'rate_use',
      'refusals',
      'task_urls',
      'text_spending',
      'token_uses',
      'upload_counts',
      'upload_reservations',
      'workers',
    ],
  )
  await migrateOps(pool)
  t.same(await applied(pool), first, 'a second time does nothing')
})

t.test('replicas that start at once apply each migration once', async (t) => {
  const pool = await emptyDatabase(t)
  await Promise.all(Array.from({ length: 6 }, () => migrateOps(pool)))
  t.equal((await applied(pool)).length, EVERY_ONE.length)
})

t.test('one that has looked before, and waited for another, goes on', async (t) => {
  const pool = await emptyDatabase(t)
  const [holder, looker] = [await pool.connect(), await pool.connect()]
  try {
    // Both have looked for the schemas in vain: what a connection has not found it remembers.
    for (const client of [holder, looker])
      await client.query(`select to_regclass('ops.migrations'), to_regclass('engine.checkpoints')`)
    for (const migrateAs of [
      (client: PoolClient) => migrateOps(onlyWith(client)),
      (client: PoolClient) => migrateEngine(onlyWith(client)),
    ])
      await Promise.all([migrateAs(holder), migrateAs(looker)])
  } finally {
    holder.release()
    looker.release()
  }
  t.equal((await applied(pool)).length, EVERY_ONE.length)
})

t.test('a database older than numbered migrations keeps its rows', async (t) => {
  const [fresh, pool] = [await emptyDatabase(t), await emptyDatabase(t)]
  await migrateOps(fresh)
  await pool.query(UNNUMBERED_DDL)
  await pool.query(
    `insert into ops.admissions (platform_id, tenant_id, token_id, currency, hold)
     values ('video_1', 'tenant_1', 'token_1', 'USD', 1.5)`,
  )
  await pool.query(`insert into ops.workers values ('worker_1', now())`)
  await migrateOps(pool)
  t.same(await shape(pool), await shape(fresh))
  t.equal((await applied(pool)).length, EVERY_ONE.length)
  const { rows } = await pool.query('select platform_id, token_id, hold::text from ops.admissions')
  t.same(rows, [{ platform_id: 'video_1', token_id: 'token_1', hold: '1.500000000000' }])
  t.equal((await pool.query('select 1 from ops.workers')).rowCount, 1)
  // A replica of the release before may still start beside it.
  await pool.query(UNNUMBERED_DDL)
  t.same(await shape(pool), await shape(fresh))
})

t.test('a database older than named tokens of admissions keeps its rows', async (t) => {
  const [fresh, pool] = [await emptyDatabase(t), await emptyDatabase(t)]
  await migrateOps(fresh)
  await pool.query(
    `create schema ops;
     create table ops.admissions (
       platform_id text primary key, tenant_id text not null, currency text not null,
       hold numeric(38, 12) not null, position bigint,
       admitted_at timestamptz not null default now());
     create index admissions_tenant on ops.admissions (tenant_id, currency);`,
  )
  await migrateOps(pool)
  t.same(await shape(pool), await shape(fresh))
})

t.test('new migrations are applied in order, all or none', async (t) => {
  const pool = await emptyDatabase(t)
  const create = 'create table ops.notes (n int primary key)'
  const add = 'insert into ops.notes values (1)'
  await migrate(pool, [{ owner: 'notes', steps: [create] }])
  const later = [create, add, 'alter table ops.notes add column word text']
  await t.rejects(
    migrate(pool, [{ owner: 'notes', steps: [...later, 'alter table ops.missing rename to x'] }]),
  )
  t.equal((await applied(pool)).length, 1, 'nothing of a start that failed stays')
  await migrate(pool, [{ owner: 'notes', steps: later }])
  t.same((await pool.query('select n, word from ops.notes')).rows, [{ n: 1, word: null }])
  t.same(
    (await applied(pool)).map(({ number }) => number),
    [1, 2, 3],
  )
  await migrate(pool, [{ owner: 'notes', steps: [create] }])
  t.equal((await applied(pool)).length, 3, 'what a newer program applied stays')
})
