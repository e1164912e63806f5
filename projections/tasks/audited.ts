import type { Queryable } from '../engine/queryable.ts'
import { audited } from '../engine/read-model.ts'
import type { AuditedTable } from '../engine/audited-rows.ts'
import { COARSE_SHIFT, FINE_SHIFT, polls, scopes, tasks } from './tables.ts'

/** The rows of tasks that an auditor compares with the log; counts are counted again. */
export const taskTables = {
  ...audited({ scopes, tasks, polls }),
  /** A task's place in its tenant's list, without the rest. */
  places: {
    name: tasks.name,
    columns: { platform_id: 'text', scope_id: 'text', seq: 'text' },
  },
} as const satisfies Readonly<Record<string, AuditedTable>>

/** Counts of lists: the key, the recounted and the stored value. */
export interface CountedTasks {
  readonly level: number
  readonly bucket: number
  readonly status: string
  readonly model: string
  readonly counted: string
  readonly stands: string
}

/**
 * Number of tasks that one call of `differingCounts` counts again: whole buckets of every level.
 */
export const COUNTED_TASKS = 8 << COARSE_SHIFT

/**
 * Finds counts of a scope that do not match its tasks: levels 1 and 2 of the tasks from `fromSeq`
 * up to `toSeq`, both at the edges of buckets; without `toSeq` all later ones.
 */
export async function differingCounts(
  db: Queryable,
  scopeId: number,
  range: { readonly fromSeq: number; readonly toSeq: number | undefined; readonly limit: number },
): Promise<readonly CountedTasks[]> {
  const { rows } = await db.query<CountedTasks>(
    `with counted as (
       select seq >> ${FINE_SHIFT} as fine, status, model, count(*) as n from tasks.tasks
       where scope_id = $1 and seq >= $2 and seq < $3 and visible
       group by 1, 2, 3),
     levels as (
       select 2 as level, fine as bucket, status, model, n from counted
       union all
       select 1, fine >> ${COARSE_SHIFT - FINE_SHIFT}, status, model, sum(n) from counted
       group by 2, 3, 4),
     stored as (
       select level, bucket::bigint as bucket, status, model, n from tasks.counts
       where scope_id = $1 and n <> 0
         and (level = 2 and bucket >= $2::bigint >> ${FINE_SHIFT}
                        and bucket < $3::bigint >> ${FINE_SHIFT}
              or level = 1 and bucket >= $2::bigint >> ${COARSE_SHIFT}
                           and bucket < $3::bigint >> ${COARSE_SHIFT}))
     select level::int, bucket::int, status, model, coalesce(l.n, 0)::text as counted,
            coalesce(s.n, 0)::text as stands
     from levels l full join stored s using (level, bucket, status, model)
     where coalesce(l.n, 0) <> coalesce(s.n, 0)
     order by level, bucket, status, model limit $4`,
    [scopeId, range.fromSeq, range.toSeq ?? Number.MAX_SAFE_INTEGER, range.limit],
  )
  return rows
}

/** Finds counts of a whole scope (level 0) that are not the sums of level 1. */
export async function differingSums(
  db: Queryable,
  scopeId: number,
  limit: number,
): Promise<readonly CountedTasks[]> {
  const { rows } = await db.query<CountedTasks>(
    `with summed as (
       select status, model, sum(n) as n from tasks.counts
       where scope_id = $1 and level = 1 group by 1, 2),
     stored as (select status, model, n from tasks.counts where scope_id = $1 and level = 0)
     select 0 as level, 0 as bucket, status, model, coalesce(m.n, 0)::text as counted,
            coalesce(s.n, 0)::text as stands
     from summed m full join stored s using (status, model)
     where coalesce(m.n, 0) <> coalesce(s.n, 0)
     order by status, model limit $2`,
    [scopeId, limit],
  )
  return rows
}

/** The stored count of one bucket. */
export async function standingCount(
  db: Queryable,
  key: { readonly scopeId: number } & Pick<CountedTasks, 'level' | 'bucket' | 'status' | 'model'>,
): Promise<bigint> {
  const { rows } = await db.query<{ n: string }>(
    `select n from tasks.counts
     where scope_id = $1 and level = $2 and bucket = $3 and status = $4 and model = $5`,
    [key.scopeId, key.level, key.bucket, key.status, key.model],
  )
  return BigInt(rows[0]?.n ?? 0)
}

/** Every scope that anything is listed or counted under, and how many tasks it has had. */
export async function listedScopes(
  db: Queryable,
): Promise<readonly { readonly scopeId: number; readonly nextSeq: number }[]> {
  const { rows } = await db.query<{ scope_id: number; next_seq: string }>(
    `select scope_id, coalesce(s.next_seq, 0) as next_seq
     from tasks.scopes s full join (select distinct scope_id from tasks.counts) c using (scope_id)
     order by scope_id`,
  )
  return rows.map((row) => ({ scopeId: row.scope_id, nextSeq: Number(row.next_seq) }))
}
