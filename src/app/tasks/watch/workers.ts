import type { Pool } from 'pg'

/** Who works on leased tasks: a row per process, renewed while it lives, in the database's time. */

/** Says that a worker lives. */
export async function renewWorker(pool: Pool, owner: string): Promise<void> {
  await pool.query({
    name: 'workers-renew',
    text: `insert into ops.workers (owner, seen_at) values ($1, now())
           on conflict (owner) do update set seen_at = excluded.seen_at`,
    values: [owner],
  })
}

/** Workers that said nothing for so long. */
export async function silentWorkers(pool: Pool, silentMs: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ owner: string }>({
    name: 'workers-silent',
    text: `select owner from ops.workers
           where seen_at < now() - $1 * interval '1 millisecond' order by owner`,
    values: [silentMs],
  })
  return rows.map(({ owner }) => owner)
}

/** Forgets workers, unless they said something within `silentMs` after all. */
export async function forgetWorkers(
  pool: Pool,
  owners: readonly string[],
  silentMs: number,
): Promise<void> {
  await pool.query({
    name: 'workers-forget',
    text: `delete from ops.workers
           where owner = any($1::text[]) and seen_at <= now() - $2 * interval '1 millisecond'`,
    values: [owners, silentMs],
  })
}
