import type { TaskRow } from '../../../projections/tasks/query.ts'
import { costOfTask } from './cost.ts'
import { findTaskUrls } from './result-urls.ts'
import type { TaskDeps } from './deps.ts'
import { findOwnTask, isProjected } from '../access/visibility.ts'
import { isTerminal } from './observe.ts'
import type { Refresher } from './refresh.ts'
import type { GetTask, TaskKey } from './types.ts'
import { viewOf } from './view.ts'

/** A task not ended is asked for upstream when it was last observed longer ago than this. */
const STALE_AFTER_MS = 1_000

/** A task and its result links, fresh from upstream where that can tell more than we know. */
export type LookUp = (key: TaskKey) => Promise<{
  readonly row: TaskRow
  readonly urls: Readonly<Record<string, string>> | undefined
}>

export function createLookUp(deps: TaskDeps, refresher: Refresher): LookUp {
  const refreshed = async (
    row: TaskRow,
    key: Parameters<typeof findOwnTask>[1],
    requestId: string,
  ): Promise<TaskRow> => {
    if (!isStale(row, deps.clock.nowMs())) return row
    try {
      const result = await refresher.ifFree(row, requestId)
      if (result === undefined || !result.outcome.ended) {
        if (result?.outcome.position === undefined) return row
      }
      // Ended without an event of ours: another process was quicker, and its append is in the log.
      const position = result.outcome.position ?? (await deps.log.endPosition())
      if (!(await isProjected(deps, position))) return row
      return await findOwnTask(deps, { ...key, id: row.platformId })
    } catch (error) {
      deps.logger.info({ platformId: row.platformId, requestId, err: error }, 'refresh failed')
      return row
    }
  }

  return async ({ principal, family, id, requestId }) => {
    const key = { tenantId: principal.tenantId, families: [family].flat(), id }
    const row = await refreshed(await findOwnTask(deps, key), key, requestId)
    return { row, urls: await urlsFor(deps, refresher, row, requestId) }
  }
}

/** Query of one task. */
export function createGetTask(deps: TaskDeps, lookUp: LookUp): GetTask {
  return async (key) => {
    const { row, urls } = await lookUp(key)
    return { ...viewOf(row, urls), cost: await costOfTask(deps, row) }
  }
}

function isStale(row: TaskRow, nowMs: number): boolean {
  if (row.submission !== 'submitted' || isTerminal(row.status)) return false
  const ageMs = nowMs - (row.observedAtMs ?? row.updatedAtMs)
  // Observed in the future: by a clock that was set back since.
  return ageMs > STALE_AFTER_MS || ageMs < -STALE_AFTER_MS
}

async function urlsFor(
  deps: TaskDeps,
  refresher: Refresher,
  row: TaskRow,
  requestId: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (row.status !== 'succeeded' || !row.settled) return undefined
  const { platformId } = row
  const cached = await findTaskUrls(deps.pool, [platformId], deps.clock.nowMs())
  const known = cached.get(platformId)
  if (known !== undefined) return known
  try {
    return await refresher.urls(row, requestId)
  } catch (error) {
    deps.logger.info({ platformId, requestId, err: error }, 'result URLs not available')
    return undefined
  }
}
