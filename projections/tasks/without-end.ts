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
