import type { Queryable } from '../engine/queryable.ts'
import type { TaskStatus } from './fold.ts'
import { COARSE_SHIFT, FINE_SHIFT, listColumns, toTaskRow, type TaskRow } from './tables.ts'

export interface TaskListFilter {
  readonly tenantId: string
  readonly family: string
  /** From 1. */
  readonly pageNumber: number
  readonly pageSize: number
  readonly status?: TaskStatus | undefined
  /** External name. */
  readonly model?: string | undefined
  /** Platform or native ids; the caller bounds how many. */
  readonly ids?: readonly string[] | undefined
}

export interface TaskPage {
  readonly rows: readonly TaskRow[]
  /** Visible tasks that match the filter, on all pages. */
  readonly total: number
}

/** A page's rows, and the total on every row; a page without tasks is one row of nulls. */
interface PageRecord {
  readonly platform_id: string | null
  readonly total: string
}

/**
 * One level of the counts as buckets from the newest: `n` tasks in it, `upto` tasks in it and all
 * newer ones.
 */
function level(number: number, within: string, filter: string): string {
  return `select bucket, sum(n) as n, sum(sum(n)) over (order by bucket desc) as upto
          from tasks.counts
          where scope_id = (select scope_id from scope) and level = ${number} and ${within}${filter}
          group by bucket`
}

/**
 * The bucket that holds the offset is found by sums (at most 32 coarse and 32 fine buckets for a
 * million tasks); from there an index gives the page. The cost does not grow with the depth.
 */
function pageSql(byStatus: boolean, byModel: boolean): string {
  const filter = `${byStatus ? ' and status = $5' : ''}${byModel ? ` and model = $${byStatus ? 6 : 5}` : ''}`
  const width = COARSE_SHIFT - FINE_SHIFT
  return `
    with scope as (select scope_id from tasks.scopes where tenant_id = $1 and family = $2),
    total as (
      select coalesce(sum(n), 0) as total from tasks.counts
      where scope_id = (select scope_id from scope) and level = 0 and bucket = 0${filter}),
    coarse as (
      select bucket, upto - n as newer from (${level(1, 'true', filter)}) c
      where upto > $3::bigint order by bucket desc limit 1),
    fine as (
      select f.bucket, coarse.newer + f.upto - f.n as newer
      from coarse, (${level(
        2,
        `bucket between (select bucket from coarse) << ${width}
                 and ((select bucket from coarse) << ${width}) + ${(1 << width) - 1}`,
        filter,
      )}) f
      where coarse.newer + f.upto > $3::bigint order by f.bucket desc limit 1),
    page as (
      select ${listColumns}, t.seq from tasks.tasks t
      where t.scope_id = (select scope_id from scope) and t.visible${filter.replaceAll(/status|model/g, 't.$&')}
        and t.seq < ((select bucket from fine)::bigint + 1) << ${FINE_SHIFT}
      order by t.seq desc
      offset (select $3::bigint - newer from fine) limit $4)
    select total.total, page.* from total left join page on true order by page.seq desc`
}

const statements = new Map(
  [false, true].flatMap((byStatus) =>
    [false, true].map((byModel): [string, string] => [
      `${byStatus}/${byModel}`,
      pageSql(byStatus, byModel),
    ]),
  ),
)

async function listByIds(db: Queryable, filter: TaskListFilter): Promise<TaskPage> {
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'tasks.list.ids',
    text: `select ${listColumns} from tasks.tasks t
           where (t.platform_id = any($3::text[]) or t.native_id = any($3::text[]))
             and t.tenant_id = $1 and t.family = $2 and t.visible
             and ($4::text is null or t.status = $4) and ($5::text is null or t.model = $5)
           order by t.seq desc`,
    values: [
      filter.tenantId,
      filter.family,
      filter.ids ?? [],
      filter.status ?? null,
      filter.model ?? null,
    ],
  })
  const offset = (filter.pageNumber - 1) * filter.pageSize
  return {
    rows: rows.slice(offset, offset + filter.pageSize).map(toTaskRow),
    total: rows.length,
  }
}

/**
 * A page of a tenant's tasks of one family, newest first, without hidden and refused ones. As fast
 * at any depth.
 */
export async function listTasks(db: Queryable, filter: TaskListFilter): Promise<TaskPage> {
  if (filter.ids !== undefined) return listByIds(db, filter)
  const { tenantId, family, pageNumber, pageSize, status, model } = filter
  const key = `${status !== undefined}/${model !== undefined}`
  const { rows } = await db.query<PageRecord>({
    name: `tasks.list.${key}`,
    text: statements.get(key) ?? '',
    values: [
      tenantId,
      family,
      (pageNumber - 1) * pageSize,
      pageSize,
      ...(status === undefined ? [] : [status]),
      ...(model === undefined ? [] : [model]),
    ],
  })
  return {
    rows: rows.filter((row) => row.platform_id !== null).map(toTaskRow),
    total: Number(rows[0]?.total ?? 0),
  }
}
