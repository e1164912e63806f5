/** Events of the timeline, as its statements select them. */

/** An event as support sees it. */
export interface TimelineItem {
  /** Decimal position in the log. */
  readonly position: string
  readonly type: string
  /** Time at which the log recorded it, unix milliseconds. */
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

/** A row of an event. */
export interface ItemRecord {
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

export const columns = `e.position, e.type, e.at, e.tenant_id, e.user_id, e.source_id, s.native_id,
  e.event_id, e.stream, e.revision, e.data, e.metadata`
export const tables = 'timeline.events e left join timeline.sources s on s.source_id = e.source_id'

export function toItem(row: ItemRecord): TimelineItem {
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
