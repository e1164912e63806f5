import type { Queryable } from '../engine/queryable.ts'
import type { TaskStatus } from './fold.ts'
import { listColumns, toTaskRow, type TaskRow } from './tables.ts'

/** Tasks as finance and support list them: of one tenant or of all, of any families and users. */
export interface TaskQueryFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly family: string | undefined
  readonly status: TaskStatus | undefined
  /** External name. */
  readonly model: string | undefined
  readonly tokenId: string | undefined
  readonly surface: string | undefined
  readonly requestId: string | undefined
  readonly platformId: string | undefined
  /** Native or platform id. */
  readonly taskId: string | undefined
  /** Time of the request: unix milliseconds, inclusive. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
}

export interface TaskQueryPage {
  readonly rows: readonly TaskRow[]
  /** Visible tasks that match, on all pages. */
  readonly total: number
}

class Conditions {
  readonly values: unknown[] = []
  readonly texts: string[] = []

  add(value: unknown, text: (placeholder: string) => string): void {
    if (value === undefined) return
    this.values.push(value)
    this.texts.push(text(`$${this.values.length}`))
  }
}

function scopesOf({ tenantId, family }: TaskQueryFilter, conditions: Conditions): string {
  const from = conditions.texts.length
  conditions.add(tenantId, (at) => `s.tenant_id = ${at}`)
  conditions.add(family, (at) => `s.family = ${at}`)
  const texts = conditions.texts.splice(from)
  return texts.length === 0 ? 'true' : texts.join(' and ')
}

function tasksOf(filter: TaskQueryFilter, conditions: Conditions): string {
  const from = conditions.texts.length
  conditions.add(filter.userIds, (at) => `t.user_id = any(${at}::text[])`)
  conditions.add(filter.status, (at) => `t.status = ${at}`)
  conditions.add(filter.model, (at) => `t.model = ${at}`)
  conditions.add(filter.tokenId, (at) => `t.token_id = ${at}`)
  conditions.add(filter.surface, (at) => `t.surface = ${at}`)
  conditions.add(filter.requestId, (at) => `t.request_id = ${at}`)
  conditions.add(filter.platformId, (at) => `t.platform_id = ${at}`)
  conditions.add(filter.taskId, (at) => `(t.native_id = ${at} or t.platform_id = ${at})`)
  conditions.add(filter.fromMs, (at) => `t.requested_at_ms >= ${at}::bigint`)
  conditions.add(filter.toMs, (at) => `t.requested_at_ms < ${at}::bigint`)
  return ['t.visible', ...conditions.texts.splice(from)].join(' and ')
}

/** From the counts where they cover the filter's parts, else counted one by one. */
function countSql(filter: TaskQueryFilter, conditions: Conditions): string {
  const { userIds, tokenId, surface, requestId, platformId, taskId, fromMs, toMs } = filter
  const notCounted = [userIds, tokenId, surface, requestId, platformId, taskId, fromMs, toMs]
  const scopes = scopesOf(filter, conditions)
  if (notCounted.some((each) => each !== undefined))
    return `select count(*)::text as total
            from tasks.tasks t join tasks.scopes s on s.scope_id = t.scope_id
            where ${scopes} and ${tasksOf(filter, conditions)}`
  const from = conditions.texts.length
  conditions.add(filter.status, (at) => `c.status = ${at}`)
  conditions.add(filter.model, (at) => `c.model = ${at}`)
  const kept = ['c.level = 0', ...conditions.texts.splice(from)].join(' and ')
  return `select coalesce(sum(c.n), 0)::text as total
          from tasks.counts c join tasks.scopes s on s.scope_id = c.scope_id
          where ${scopes} and ${kept}`
}

/** The place of a task in these lists, which are ordered by when it was asked for. */
export type QueriedPlace = Pick<TaskRow, 'requestedAtMs' | 'platformId'>

interface PageRange {
  readonly offset: number
  readonly limit: number
  /** Only those behind it. */
  readonly after?: QueriedPlace | undefined
}

function behind(after: QueriedPlace | undefined, conditions: Conditions): string {
  if (after === undefined) return ''
  const { values } = conditions
  const [requested, id] = [values.push(after.requestedAtMs), values.push(after.platformId)]
  return ` and (t.requested_at_ms, t.platform_id) < ($${requested}::bigint, $${id}::text)`
}

/** Reads of each list only as many as lie up to the page's end. */
function pageSql(filter: TaskQueryFilter, page: PageRange, conditions: Conditions): string {
  const scopes = scopesOf(filter, conditions)
  const wanted = tasksOf(filter, conditions) + behind(page.after, conditions)
  const order = (of: string): string =>
    `order by ${of}.requested_at_ms desc, ${of}.platform_id desc`
  const most = page.offset + page.limit
  // A task is found by its id directly, in any list.
  if (filter.platformId !== undefined || filter.taskId !== undefined)
    return `select ${listColumns} from tasks.tasks t join tasks.scopes s on s.scope_id = t.scope_id
            where ${scopes} and ${wanted} ${order('t')} offset ${page.offset} limit ${page.limit}`
  return `select page.* from tasks.scopes s cross join lateral (
            select ${listColumns} from tasks.tasks t
            where t.scope_id = s.scope_id and ${wanted} ${order('t')} limit ${most}) page
          where ${scopes} ${order('page')} offset ${page.offset} limit ${page.limit}`
}

/** A page of tasks, the newest first, without hidden and refused ones, and how many there are in all. */
export async function queryTasks(
  db: Queryable,
  filter: TaskQueryFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<TaskQueryPage> {
  const counting = new Conditions()
  const listing = new Conditions()
  const [counted, listed] = await Promise.all([
    db.query<{ total: string }>(countSql(filter, counting), counting.values),
    db.query<Readonly<Record<string, unknown>>>(pageSql(filter, page, listing), listing.values),
  ])
  return { rows: listed.rows.map(toTaskRow), total: Number(counted.rows[0]?.total ?? 0) }
}

/**
 * Tasks after a given one, newest first, page by page. Each page costs the same, however many there
 * are, and no task is repeated or left out when tasks are added or hidden meanwhile.
 */
export async function tasksBehind(
  db: Queryable,
  filter: TaskQueryFilter,
  after: QueriedPlace | undefined,
  limit: number,
): Promise<readonly TaskRow[]> {
  const listing = new Conditions()
  const text = pageSql(filter, { offset: 0, limit, after }, listing)
  const { rows } = await db.query<Readonly<Record<string, unknown>>>(text, listing.values)
  return rows.map(toTaskRow)
}

/** Times of requests, unix milliseconds, by platform id; tasks without a row are absent. */
export async function requestTimes(
  db: Queryable,
  platformIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ platform_id: string; requested_at_ms: string }>({
    name: 'tasks.requested',
    text: `select platform_id, requested_at_ms from tasks.tasks where platform_id = any($1::text[])`,
    values: [platformIds],
  })
  return new Map(rows.map((row) => [row.platform_id, Number(row.requested_at_ms)]))
}

/** Platform ids of the tasks with a native id, of any tenant. */
export async function platformIdsOf(db: Queryable, nativeId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ platform_id: string }>({
    name: 'tasks.native',
    text: 'select platform_id from tasks.tasks where native_id = $1 limit 100',
    values: [nativeId],
  })
  return rows.map((row) => row.platform_id)
}
