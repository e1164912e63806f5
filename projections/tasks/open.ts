import type { Queryable } from '../engine/queryable.ts'

/**
 * How many tasks without an end these tokens have, counted up to `atMost`, and which of some platform
 * ids have a row, ended or not: one statement, so that both are of one moment.
 */
export async function openTasks(
  db: Queryable,
  tokenIds: readonly string[],
  platformIds: readonly string[],
  atMost: number,
): Promise<{
  /** By token id; a token without open tasks is not in it. */
  readonly open: ReadonlyMap<string, number>
  readonly known: ReadonlySet<string>
}> {
  const { rows } = await db.query<{
    token_id: string
    platform_id: string | null
    tasks: string
  }>({
    name: 'tasks.open',
    text: `select w.token_id, null as platform_id, count(*) as tasks
           from unnest($1::text[]) as w (token_id)
           cross join lateral (select from tasks.tasks t
                               where t.token_id = w.token_id and t.status in ('queued', 'running')
                               limit $3) as open
           group by w.token_id
           union all
           select token_id, platform_id, 0 from tasks.tasks where platform_id = any($2::text[])`,
    values: [tokenIds, platformIds, atMost],
  })
  const counted = rows.filter((row) => row.platform_id === null)
  return {
    open: new Map(counted.map((row) => [row.token_id, Number(row.tasks)])),
    known: new Set(rows.flatMap((row) => row.platform_id ?? [])),
  }
}
