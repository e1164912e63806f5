import type { Pool, PoolClient } from 'pg'

/**
 * What one owner keeps in Postgres beside the read models, in the schema `ops`: caches,
 * reservations in flight and live replicas; never the truth. Losing it loses no money and no task
 * (P6).
 */
export interface Migrations {
  /** The folder that the tables belong to. */
  readonly owner: string
  /** Migration n is the n-th, from 1: what was released is never edited, and new ones come last. */
  readonly steps: readonly string[]
}

/** Any number, the same on every replica: they must not create the schema at the same time. */
const MIGRATION_LOCK = 7_207_001

const bookSql = `
create schema if not exists ops;

create table if not exists ops.migrations (
  owner text not null,
  number int not null,
  applied_at timestamptz not null default now(),
  primary key (owner, number)
);
`

async function applyNew(client: PoolClient, { owner, steps }: Migrations): Promise<void> {
  const { rows } = await client.query<{ number: number }>(
    'select number from ops.migrations where owner = $1',
    [owner],
  )
  const applied = new Set(rows.map(({ number }) => number))
  for (const [index, sql] of steps.entries()) {
    const number = index + 1
    if (applied.has(number)) continue
    await client.query(sql)
    await client.query('insert into ops.migrations (owner, number) values ($1, $2)', [
      owner,
      number,
    ])
  }
}

/**
 * Applies what is new of every owner, in order and all or nothing; safe to run on every start of every
 * replica. What a newer program has applied beyond these stays as it is.
 */
export async function migrate(pool: Pool, owners: readonly Migrations[]): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await client.query(bookSql)
    for (const migrations of owners) await applyNew(client, migrations)
    await client.query('commit')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}
