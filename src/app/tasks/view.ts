import type { TaskRow } from '../../../projections/tasks/query.ts'
import type { TaskView } from './types.ts'

/** A task as its tenant sees it. */
export function viewOf(row: TaskRow, urls: Readonly<Record<string, string>> | undefined): TaskView {
  const shown = row.status === 'succeeded' && row.settled
  // Between two batches a read model may have the end and not yet what it cost, which is written with it: a success
  // without its result would be taken for one that has none.
  const isEarly = row.status === 'succeeded' && !row.settled
  return {
    family: row.family,
    platformId: row.platformId,
    nativeId: row.nativeId ?? undefined,
    model: row.model,
    status: isEarly ? 'running' : row.status,
    settings: { ...row.settings, ...row.output },
    callerMarker: row.markerIsOurs ? undefined : row.marker,
    usage: isEarly ? undefined : (row.usage ?? undefined),
    error: row.error ?? undefined,
    urls: shown && urls !== undefined && Object.keys(urls).length > 0 ? urls : undefined,
    createdAtMs: row.requestedAtMs,
    updatedAtMs: row.updatedAtMs,
    observedAtMs: row.observedAtMs ?? undefined,
  }
}
