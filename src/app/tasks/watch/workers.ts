import type { Pool } from 'pg'
import type { Queryable } from '../../../../projections/engine/queryable.ts'

/** Who works on leased tasks: a row per process, renewed while it lives. */

/** What a worker last said: another text each time. Nobody compares it with a clock. */
export interface Word {
  readonly owner: string
  readonly said: string
}

/** Says that a worker lives. */
export async function renewWorker(pool: Pool, owner: string): Promise<void> {
  await pool.query({
    name: 'workers-renew',
    text: `insert into ops.workers (owner, seen_at) values ($1, clock_timestamp())
           on conflict (owner) do update set seen_at = excluded.seen_at`,
    values: [owner],
  })
}

/** The last words of all workers. */
export async function lastWords(pool: Pool): Promise<readonly Word[]> {
  const { rows } = await pool.query<Word>({
    name: 'workers-words',
    text: `select owner, seen_at::text as said from ops.workers order by owner`,
  })
  return rows
}

/** Forgets workers that said nothing since, for whoever is first to; returns those it forgot. */
export async function forgetWorkers(
  db: Queryable,
  words: readonly Word[],
): Promise<readonly string[]> {
  const { rows } = await db.query<{ owner: string }>({
    name: 'workers-forget',
    text: `delete from ops.workers w
           using unnest($1::text[], $2::text[]) as silent (owner, said)
           where w.owner = silent.owner and w.seen_at::text = silent.said
           returning w.owner`,
    values: [words.map(({ owner }) => owner), words.map(({ said }) => said)],
  })
  return rows.map(({ owner }) => owner)
}

/** Forgets a worker, whatever it said. */
export async function forgetWorker(db: Queryable, owner: string): Promise<void> {
  await db.query({
    name: 'workers-leave',
    text: 'delete from ops.workers where owner = $1',
    values: [owner],
  })
}
