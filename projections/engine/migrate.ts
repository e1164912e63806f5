import type { Pool } from 'pg'
import { prepareTables } from './follower.ts'
import { lockUntilCommit } from './leadership.ts'
import type { Queryable } from './queryable.ts'
import type { Projection } from './types.ts'

// A query finds the schema that the lock's holder has just created; `create schema if not exists` may not.
const tablesSql = `
  do $$ begin
    if not exists (select from pg_namespace where nspname = 'engine') then create schema engine; end if;
  end $$;

  -- One row per projection that is live, and one more (<name>_next) while it is being rebuilt.
  create table if not exists engine.checkpoints (
    name text primary key,
    version int not null,
    -- Where to go on from, as the log named it; -1 before the first event.
    commit bigint not null,
    prepare bigint not null,
    -- Every event up to this position was considered: a pair (L, 0) lies before the event at L.
    position bigint not null
      generated always as (case when prepare < commit then commit - 1 else commit end) stored,
    -- Events of our namespace considered so far: what lag is counted in.
    events bigint not null default 0,
    -- When that last event was recorded.
    recorded_at timestamptz,
    -- The last event considered, {id, stream, revision}: whether the log still holds it.
    last_event jsonb,
    -- Secondary indexes are made once the first bulk of events is in.
    indexed boolean not null default false,
    -- Why it stopped: {kind, reason, position, eventId, type, at}.
    stopped jsonb,
    updated_at timestamptz not null default now()
  ) with (fillfactor = 50);

  -- What of an event a read model did not take in, and why; the audit names each from the log.
  create table if not exists engine.passed_over (
    projection text not null,
    position bigint not null,
    event_id text not null,
    reason text not null,
    noted_at timestamptz not null default now(),
    primary key (projection, position)
  );
`

/**
 * Creates the engine's tables, and the empty tables of projections that never ran, so that queries
 * find them from the beginning. Safe to run by any number of processes at once.
 */
export async function migrateEngine(
  pool: Pool,
  projections: readonly Projection[] = [],
): Promise<void> {
  await migrateOwn(pool)
  for (const projection of projections) await prepareTables(pool, projection)
}

/**
 * Names the projections that have no tables yet; reads only. Tables of another version count: they are
 * served until the projector has built those of this version.
 */
export async function lackedTables(
  db: Queryable,
  projections: readonly Pick<Projection, 'name'>[],
): Promise<readonly string[]> {
  const names = projections.map(({ name }) => name)
  const { rows: own } = await db.query<{ is_there: boolean }>(
    `select to_regclass('engine.checkpoints') is not null
       and to_regclass('engine.passed_over') is not null as is_there`,
  )
  if (own[0]?.is_there !== true) return names
  const { rows } = await db.query<{ name: string }>(
    `select c.name from engine.checkpoints c join pg_namespace on nspname = c.name
     where c.name = any($1::text[])`,
    [names],
  )
  const found = new Set(rows.map(({ name }) => name))
  return names.filter((name) => !found.has(name))
}

async function migrateOwn(pool: Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await lockUntilCommit(client, 'engine.migrate')
    await client.query(tablesSql)
    await client.query('commit')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}
