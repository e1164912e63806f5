import type { Queryable } from '../engine/queryable.ts'

/** Owner of counted open tasks: a token, a user, or the whole tenant. */
export interface TaskOwner {
  readonly tenantId: string
  readonly userId?: string
  readonly tokenId?: string
}

/**
 * The number of open tasks of each of these owners, in their order, counted up to `atMost`, and
 * which of some platform ids have a row, ended or not: one statement, so that both are read at the
 * same moment.
 */
export async function openTasks(
  db: Queryable,
  owners: readonly TaskOwner[],
  platformIds: readonly string[],
  atMost: number,
): Promise<{ readonly open: readonly number[]; readonly known: ReadonlySet<string> }> {
  const { rows } = await db.query<{
    place: string
    platform_id: string | null
    tasks: string
  }>({
    name: 'tasks.open',
    text: `with w as (
             select * from unnest($1::text[], $2::text[], $3::text[])
               with ordinality as w (tenant_id, user_id, token_id, place))
           select place, null as platform_id, count(*) as tasks
           from w cross join lateral (select from tasks.tasks t
                               where t.token_id = w.token_id and t.status in ('queued', 'running')
                               limit $5) as open
           where w.token_id is not null group by place
           union all
           select place, null, count(*)
           from w cross join lateral (select from tasks.tasks t
                               where t.tenant_id = w.tenant_id and t.user_id = w.user_id
                                 and t.status in ('queued', 'running')
                               limit $5) as open
           where w.token_id is null and w.user_id is not null group by place
           union all
           select place, null, count(*)
           from w cross join lateral (select from tasks.tasks t
                               where t.tenant_id = w.tenant_id and t.status in ('queued', 'running')
                               limit $5) as open
           where w.token_id is null and w.user_id is null group by place
           union all
           select 0, platform_id, 0 from tasks.tasks where platform_id = any($4::text[])`,
    values: [
      owners.map(({ tenantId }) => tenantId),
      owners.map(({ userId }) => userId ?? null),
      owners.map(({ tokenId }) => tokenId ?? null),
      platformIds,
      atMost,
    ],
  })
  const counted = new Map(
    rows.flatMap((row) =>
      row.platform_id === null ? [[Number(row.place), Number(row.tasks)] as const] : [],
    ),
  )
  return {
    open: owners.map((_owner, index) => counted.get(index + 1) ?? 0),
    known: new Set(rows.flatMap((row) => row.platform_id ?? [])),
  }
}

/** Finds those of some tasks, of any tenant, that have not ended. */
export async function tasksWithoutEnd(
  db: Queryable,
  platformIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ platform_id: string }>({
    name: 'tasks.without-end',
    text: `select platform_id from tasks.tasks
           where platform_id = any($1::text[]) and status in ('queued', 'running')`,
    values: [platformIds],
  })
  return new Set(rows.map((row) => row.platform_id))
}

/** Finds those of some tasks, of any tenant, that have ended. */
export async function tasksEnded(
  db: Queryable,
  platformIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ platform_id: string }>({
    name: 'tasks.ended',
    text: `select platform_id from tasks.tasks
           where platform_id = any($1::text[]) and status not in ('queued', 'running')`,
    values: [platformIds],
  })
  return new Set(rows.map((row) => row.platform_id))
}
