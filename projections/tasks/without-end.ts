import type { Queryable } from '../engine/queryable.ts'

/** Those of some tasks, of any tenant, that have no end yet. */
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

/** Those of some tasks, of any tenant, that have an end. */
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
