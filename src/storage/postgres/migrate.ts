import type { Pool, PoolClient } from 'pg'

/**
 * The tables of one owner in the schema `ops`: caches, reservations in flight and live replicas,
 * never the truth. Losing them loses no money and no task (P6).
 */
export interface Migrations {
  /** The folder that the tables belong to. */
  readonly owner: string
  /**
   * Migrations in order, numbered from 1. A released one is never edited; new ones are added at the
   * end.
   */
  readonly steps: readonly string[]
}

/**
 * The advisory lock's number, the same on every replica: two replicas must not migrate at the same
 * time.
 */
export const MIGRATION_LOCK = 7_207_001

// `if not exists` of `create schema` asks what the connection has kept of the catalog, which a wait for an advisory lock
// does not renew: it fails where the lock's holder has just created the schema. A query reads the catalog itself.
const bookSql = `
do $$ begin
  if not exists (select from pg_namespace where nspname = 'ops') then create schema ops; end if;
end $$;

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

/** Names the migrations that the database lacks, such as `tasks 2`; reads only. */
export async function lackedMigrations(
  db: Pick<Pool, 'query'>,
  owners: readonly Migrations[],
): Promise<readonly string[]> {
  const { rows: found } = await db.query<{ is_there: boolean }>(
    `select to_regclass('ops.migrations') is not null as is_there`,
  )
  const { rows } =
    found[0]?.is_there === true
      ? await db.query<{ name: string }>(
          `select owner || ' ' || number as name from ops.migrations`,
        )
      : { rows: [] }
  const applied = new Set(rows.map(({ name }) => name))
  return owners
    .flatMap(({ owner, steps }) => steps.map((_, index) => `${owner} ${index + 1}`))
    .filter((name) => !applied.has(name))
}

/**
 * Applies the new migrations of every owner, in order and all or nothing; safe to run on every
 * start of every replica. Migrations of a newer release are left alone.
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
