import type { Queryable } from '../engine/queryable.ts'
import { conjunctionOf, scopeConditions, type TimelineScope } from './scope.ts'

export { timelineTables } from './audited.ts'
export type { TimelineScope } from './scope.ts'

/** An event as support sees it. */
export interface TimelineItem {
  /** Decimal position in the log. */
  readonly position: string
  readonly type: string
  /** When the log recorded it, unix milliseconds. */
  readonly atMs: number
  readonly tenantId: string
  readonly userId: string | undefined
  readonly sourceId: string | undefined
  readonly nativeId: string | undefined
  readonly eventId: string
  readonly stream: string
  readonly revision: bigint
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

interface ItemRecord {
  readonly position: string
  readonly type: string
  readonly at: Date
  readonly tenant_id: string
  readonly user_id: string | null
  readonly source_id: string | null
  readonly native_id: string | null
  readonly event_id: string
  readonly stream: string
  readonly revision: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

const columns = `e.position, e.type, e.at, e.tenant_id, e.user_id, e.source_id, s.native_id,
  e.event_id, e.stream, e.revision, e.data, e.metadata`
const tables = 'timeline.events e left join timeline.sources s on s.source_id = e.source_id'

function toItem(row: ItemRecord): TimelineItem {
  return {
    position: row.position,
    type: row.type,
    atMs: row.at.getTime(),
    tenantId: row.tenant_id,
    userId: row.user_id ?? undefined,
    sourceId: row.source_id ?? undefined,
    nativeId: row.native_id ?? undefined,
    eventId: row.event_id,
    stream: row.stream,
    revision: BigInt(row.revision),
    data: row.data,
    metadata: row.metadata,
  }
}

/** Every event of one task or call, oldest first, and whose it is. */
export interface SourceHistory {
  readonly tenantId: string
  readonly userId: string | undefined
  readonly items: readonly TimelineItem[]
}

/** A task has about ten events; more than this is not a task's life. */
const MAX_HISTORY = 10_000

/**
 * The history of a task (platform or native id), call or token within a scope; undefined when there
 * is none in it. Of several tasks with one native id the newest.
 */
export async function taskHistory(
  db: Queryable,
  id: string,
  scope: TimelineScope = {},
): Promise<SourceHistory | undefined> {
  const values: unknown[] = [id]
  const conditions = scopeConditions(scope, 's', values)
  const { rows } = await db.query<{ source_id: string; tenant_id: string; user_id: string | null }>(
    `select s.source_id, s.tenant_id, s.user_id from timeline.sources s
     where (s.source_id = $1 or s.native_id = $1) and ${conjunctionOf(conditions)}
     order by s.position desc limit 1`,
    values,
  )
  const [source] = rows
  if (source === undefined) return undefined
  const events = await db.query<ItemRecord>({
    name: 'timeline.history',
    text: `select ${columns} from ${tables} where e.source_id = $1 order by e.position limit $2`,
    values: [source.source_id, MAX_HISTORY],
  })
  return {
    tenantId: source.tenant_id,
    userId: source.user_id ?? undefined,
    items: events.rows.map(toItem),
  }
}

/**
 * How far the log's clock is trusted to step back: the time range finds where to begin by time,
 * this much earlier, and then keeps to the order of the log.
 */
const CLOCK_SLACK_S = 600

/** A page of a tenant's events in the order of the log. */
export async function tenantTimeline(
  db: Queryable,
  filter: TimelineScope & {
    readonly tenantId: string
    readonly sourceId?: string | undefined
    readonly types?: readonly string[] | undefined
    /** When recorded: unix milliseconds, inclusive. */
    readonly fromMs?: number | undefined
    /** Unix milliseconds, exclusive. */
    readonly toMs?: number | undefined
  },
  page: {
    /** Decimal position of the last item already seen. */
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<{ readonly items: readonly TimelineItem[]; readonly next: string | undefined }> {
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
  const items = rows.slice(0, page.limit).map(toItem)
  return { items, next: rows.length > page.limit ? items.at(-1)?.position : undefined }
}
