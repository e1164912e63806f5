import type { Queryable } from '../engine/queryable.ts'
import { listColumns, toTaskRow, type TaskRow } from './tables.ts'

/** Tasks of several families in one list, by the time they were asked for: read on from any of them. */

/** Place of a task in these lists. */
export interface TaskPlace {
  readonly requestedAtMs: number
  readonly platformId: string
}

export interface TaskPageFilter {
  readonly tenantId: string
  readonly families: readonly string[]
  readonly order: 'asc' | 'desc'
  readonly after: TaskPlace | undefined
  readonly limit: number
}

/** Place of a tenant's task, by platform or native id; also if it was hidden meanwhile. */
export async function taskPlace(
  db: Queryable,
  key: { readonly tenantId: string; readonly families: readonly string[]; readonly id: string },
): Promise<TaskPlace | undefined> {
  const { rows } = await db.query<{ requested_at_ms: string; platform_id: string }>({
    name: 'tasks.place',
    text: `select requested_at_ms, platform_id from tasks.tasks
           where (platform_id = $3 or native_id = $3) and tenant_id = $1
             and family = any($2::text[])
           order by position desc limit 1`,
    values: [key.tenantId, key.families, key.id],
  })
  const [row] = rows
  return row && { requestedAtMs: Number(row.requested_at_ms), platformId: row.platform_id }
}

/** Reads of each family only as many as a page has, so that it costs the same at any depth. */
function pageSql(order: 'asc' | 'desc', goesOn: boolean): string {
  const compared = order === 'desc' ? '<' : '>'
  const past = goesOn ? `and (t.requested_at_ms, t.platform_id) ${compared} ($4::bigint, $5)` : ''
  const sorted = (of: string): string =>
    `order by ${of}.requested_at_ms ${order}, ${of}.platform_id ${order} limit $3`
  return `
    select page.* from tasks.scopes s cross join lateral (
      select ${listColumns} from tasks.tasks t
      where t.scope_id = s.scope_id and t.visible ${past} ${sorted('t')}) page
    where s.tenant_id = $1 and s.family = any($2::text[]) ${sorted('page')}`
}

/** A page of a tenant's visible tasks; one more than asked for says that there are more. */
export async function pageTasks(
  db: Queryable,
  { tenantId, families, order, after, limit }: TaskPageFilter,
): Promise<readonly TaskRow[]> {
  const goesOn = after !== undefined
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: `tasks.page.${order}${goesOn ? '.on' : ''}`,
    text: pageSql(order, goesOn),
    values: [tenantId, families, limit, ...(goesOn ? [after.requestedAtMs, after.platformId] : [])],
  })
  return rows.map(toTaskRow)
}
