import type { Queryable } from '../engine/queryable.ts'
import type { SearchScope } from '../engine/search.ts'
import { columns, type ItemRecord, tables, type TimelineItem, toItem } from './items.ts'
import { byRequestSql, ofRequestSql } from './tables.ts'

export {
  type FailedRequest,
  failedRequests,
  type FailureFilter,
  failureStatuses,
  isFailurePlace,
  type FailureStatus,
} from './failures.ts'
export {
  type ChangesFilter,
  changesBefore,
  changesIn,
  hasChanged,
  isChangePlace,
  type PrecedingChange,
} from './changes.ts'
export type { TimelineItem } from './items.ts'
export { isLifePlace, lifeStates, livesIn, type LivesFilter } from './lives.ts'
export {
  beginningsOf,
  openingsNear,
  openingsOfRequests,
  tasksNaming,
  type RelatedOpening,
} from './related.ts'
export { isRepeatPlace, type Repeat, type RepeatsFilter, repeatsIn } from './repeats.ts'
export { type Speed, type SpeedFilter, type SpeedGroup, speedGroups, speedOf } from './speed.ts'
export { type ChangeType, failureTypes, timelineTables } from './tables.ts'
export {
  type FoundSources,
  sourcesByKey,
  sourcesByNote,
  sourcesByPrefix,
  sourcesByUpstreamRequest,
  type SourceNaming,
  type SourceSummary,
  summariesOf,
} from './search.ts'

/** Owners whose events may be seen. */
export interface TimelineScope extends SearchScope {
  /** The reader is an operator, who has narrowed what is shown to a tenant. */
  readonly isOperator?: true
}

/** Notes of operators are for readers of every tenant; only for notes the facts are parsed. */
const shownNotesSql = `case when e.type = 'NotePosted' then e.data->>'audience' = 'tenant' else true end`

/** Start and maximum length of a page. */
export interface TimelinePage {
  /** Decimal position of the last item already seen. */
  readonly after?: string | undefined
  readonly limit: number
}

/** Items oldest first; `next` is the start of the following page, undefined when there is none. */
export interface TimelineItems {
  readonly items: readonly TimelineItem[]
  readonly next: string | undefined
}

function pageOf(rows: readonly ItemRecord[], limit: number): TimelineItems {
  const items = rows.slice(0, limit).map(toItem)
  return { items, next: rows.length > limit ? items.at(-1)?.position : undefined }
}

/**
 * A page of the events of an id within a scope, in the order of the log: for a task (platform or
 * native id), a call or a token all of its events; for a request all events of everything that it
 * caused. If several items share an id, the events of all of them are returned. Notes of operators are
 * for operators alone.
 */
export async function historyOf(
  db: Queryable,
  id: string,
  scope: TimelineScope,
  page: TimelinePage,
): Promise<TimelineItems> {
  const values: unknown[] = [id, page.after ?? '-1', page.limit + 1]
  const isInside = scope.tenantId === undefined || scope.isOperator === true
  const conditions = [...scopeConditions(scope, 'e', values), ...(isInside ? [] : [shownNotesSql])]
  const { rows } = await db.query<ItemRecord>(
    `with caused as (
       select position, source_id from timeline.events
       where ${ofRequestSql('$1')} and ${byRequestSql}),
     began as (
       select source_id from timeline.sources where source_id = $1 or native_id = $1
       union select s.source_id from caused c
       join timeline.sources s on s.source_id = c.source_id and s.position = c.position
       -- A call, whose events all are of what was asked for.
       union select c.source_id from caused c
       where not exists (select 1 from timeline.sources s where s.source_id = c.source_id)),
     found as (
       select position from caused
       union select position from timeline.events where source_id = $1
       union select b.position from began join timeline.events b using (source_id))
     select ${columns} from found join timeline.events e using (position)
     left join timeline.sources s on s.source_id = e.source_id
     where e.position > $2::bigint and ${conjunctionOf(conditions)}
     order by e.position limit $3`,
    values,
  )
  return pageOf(rows, page.limit)
}

/**
 * Maximum assumed step back of the log's clock: a time range begins this much earlier, and then
 * follows the order of the log.
 */
const CLOCK_SLACK_S = 600

/** A page of a tenant's events in the order of the log. */
export async function tenantTimeline(
  db: Queryable,
  filter: TimelineScope & {
    readonly tenantId: string
    readonly sourceId?: string | undefined
    readonly types?: readonly string[] | undefined
    /** Time of recording: unix milliseconds, inclusive. */
    readonly fromMs?: number | undefined
    /** Unix milliseconds, exclusive. */
    readonly toMs?: number | undefined
  },
  page: TimelinePage,
): Promise<TimelineItems> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const conditions = [...scopeConditions(filter, 'e', values)]
  if (filter.sourceId !== undefined) conditions.push(`e.source_id = ${add(filter.sourceId)}`)
  if (filter.types !== undefined) conditions.push(`e.type = any(${add(filter.types)}::text[])`)
  if (filter.fromMs !== undefined) {
    const from = `${add(new Date(filter.fromMs))}::timestamptz`
    conditions.push(
      `e.at >= ${from}`,
      `e.position >= (select f.position from timeline.events f
                      where f.tenant_id = ${add(filter.tenantId)}
                        and f.at >= ${from} - interval '${CLOCK_SLACK_S} s'
                      order by f.at, f.position limit 1)`,
    )
  }
  if (filter.toMs !== undefined)
    conditions.push(`e.at < ${add(new Date(filter.toMs))}::timestamptz`)
  if (page.after !== undefined) conditions.push(`e.position > ${add(page.after)}::bigint`)
  const { rows } = await db.query<ItemRecord>(
    `select ${columns} from ${tables} where ${conjunctionOf(conditions)}
     order by e.position limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(rows, page.limit)
}

/** An event by its position: its type and its data. */
interface TimelineFact {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Events at these positions; one that is not there yet is not in it. */
export async function eventsAt(
  db: Queryable,
  positions: readonly string[],
): Promise<ReadonlyMap<string, TimelineFact>> {
  const { rows } = await db.query<TimelineFact & { position: string }>({
    name: 'timeline.at',
    text: 'select position, type, data from timeline.events where position = any($1::bigint[])',
    values: [positions],
  })
  return new Map(rows.map(({ position, type, data }) => [position, { type, data }]))
}

/** The scope as conditions on a table's alias; adds the values it needs. */
function scopeConditions(
  scope: TimelineScope,
  alias: string,
  values: unknown[],
): readonly string[] {
  const conditions: string[] = []
  if (scope.tenantId !== undefined)
    conditions.push(`${alias}.tenant_id = $${values.push(scope.tenantId)}`)
  if (scope.userIds !== undefined)
    conditions.push(`${alias}.user_id = any($${values.push(scope.userIds)}::text[])`)
  return conditions
}

/** Conditions as the end of a `where`. */
function conjunctionOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}
