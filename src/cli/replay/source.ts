import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** A range of time: unix milliseconds, inclusive and exclusive; undefined is without an end. */
export interface TimeRange {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

/** Where a replay finds events: in the timeline, or in the log itself. */
export interface ReplaySource {
  /**
   * What an id of a task, an asset, a call or a request stands for, in the order of the log; empty where there
   * is nothing, or nothing of this tenant.
   */
  readonly ofId: (id: string, tenant: string | undefined) => Promise<readonly RecordedEvent[]>
  /** Every event of a tenant within the range, in the order of the log. */
  readonly ofTenant: (tenant: string, range: TimeRange) => AsyncIterable<RecordedEvent>
  /** Why something may not be found although it is there. */
  readonly caveat: () => string | undefined
}

/** More than any id stands for: a request that lists refreshes a page of tasks. */
export const MAX_EVENTS_OF_ID = 100_000

/** Whether an event was recorded within a range. */
export function isWithin(event: RecordedEvent, { fromMs, toMs }: TimeRange): boolean {
  const atMs = event.recordedAt.getTime()
  return (fromMs === undefined || atMs >= fromMs) && (toMs === undefined || atMs < toMs)
}
