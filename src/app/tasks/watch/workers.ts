import type { Pool, PoolClient } from 'pg'

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

/** Takes workers that said nothing since, for whoever is first to; returns those it took. */
export async function takeSilentWorkers(
  client: PoolClient,
  words: readonly Word[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ owner: string }>({
    name: 'workers-take-silent',
    text: `select w.owner from ops.workers w
           join unnest($1::text[], $2::text[]) as silent (owner, said)
             on w.owner = silent.owner and w.seen_at::text = silent.said
           order by w.owner for update of w`,
    values: [words.map(({ owner }) => owner), words.map(({ said }) => said)],
  })
  return rows.map(({ owner }) => owner)
}

/** Forgets workers, whatever they said. */
export async function forgetWorkers(client: PoolClient, owners: readonly string[]): Promise<void> {
  await client.query({
    name: 'workers-forget',
    text: 'delete from ops.workers where owner = any($1::text[])',
    values: [owners],
  })
}
