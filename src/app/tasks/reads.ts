import { settledSource } from '../../../projections/ledger/query.ts'
import { listTasks, pageTasks, type TaskRow, taskPlace } from '../../../projections/tasks/query.ts'
import { type Cost, costOf } from '../../domain/pricing/settlement.ts'
import { DomainError } from '../../kernel/errors.ts'
import { withTimeout } from '../../kernel/pause.ts'
import { catchUp, findOwnTask, isProjected } from '../access/own-writes.ts'
import type { TaskDeps } from './deps.ts'
import { isTerminal } from './observe.ts'
import type { Refresher } from './refresh.ts'
import { findTaskUrls } from './result-urls.ts'
import { loadTask } from './task-log.ts'
import type { GetTask, ListTasks, PageTasks, TaskKey, TaskView } from './types.ts'

/** The gateway refreshes an open task that was last observed longer ago than this. */
const STALE_AFTER_MS = 1_000

/** A task and its result links, refreshed from upstream when that can add something. */
export type TaskLookup = (key: TaskKey) => Promise<{
  readonly row: TaskRow
  readonly urls: Readonly<Record<string, string>> | undefined
}>

export function createTaskLookup(deps: TaskDeps, refresher: Refresher): TaskLookup {
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
      // This process appended no event: another process was first, and its append is in the log.
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
export function createGetTask(deps: TaskDeps, lookUp: TaskLookup): GetTask {
  return async (key) => {
    const { row, urls } = await lookUp(key)
    return { ...viewOf(row, urls), cost: await costOfTask(deps, row) }
  }
}

function isStale(row: TaskRow, nowMs: number): boolean {
  if (row.submission !== 'submitted' || isTerminal(row.status)) return false
  const ageMs = nowMs - (row.observedAtMs ?? row.updatedAtMs)
  // A future time comes from a clock that was set back since.
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

/** A tenant's tasks from the gateway's records; it never queries upstream. */
export function createListTasks(deps: TaskDeps): ListTasks {
  return async ({ principal, ...filter }) => {
    const { tenantId } = principal
    await deps.readModels.requireCurrent('tasks')
    await catchUp(deps, 'tasks', tenantId)
    const { rows, total } = await listTasks(deps.pool, { tenantId, ...filter })
    const succeeded = rows.filter((row) => row.status === 'succeeded').map((row) => row.platformId)
    const urls = await findTaskUrls(deps.pool, succeeded, deps.clock.nowMs())
    return { items: rows.map((row) => viewOf(row, urls.get(row.platformId))), total }
  }
}

/** A tenant's tasks of several families, page by page, from the gateway's records. */
export function createPageTasks(deps: TaskDeps): PageTasks {
  return async ({ principal, families, order, after, limit }) => {
    const { tenantId } = principal
    await deps.readModels.requireCurrent('tasks')
    await catchUp(deps, 'tasks', tenantId)
    const place =
      after === undefined
        ? undefined
        : await taskPlace(deps.pool, { tenantId, families, id: after })
    if (after !== undefined && place === undefined)
      throw new DomainError('invalid_request', '`after` must be the id of an item of the list', {
        param: 'after',
      })
    const filter = { tenantId, families, order, after: place }
    const rows = await pageTasks(deps.pool, { ...filter, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    const succeeded = shown.filter((row) => row.status === 'succeeded').map((row) => row.platformId)
    const urls = await findTaskUrls(deps.pool, succeeded, deps.clock.nowMs())
    return {
      items: shown.map((row) => viewOf(row, urls.get(row.platformId))),
      hasMore: rows.length > limit,
    }
  }
}

/** The specs that upstream reports; null does not repeat the requested value. */
function known(output: TaskRow['output']): TaskView['settings'] {
  return Object.fromEntries(Object.entries(output ?? {}).filter(([, value]) => value !== null))
}

/** A task as its tenant sees it. */
export function viewOf(row: TaskRow, urls: Readonly<Record<string, string>> | undefined): TaskView {
  const shown = row.status === 'succeeded' && row.settled
  // Between two batches a read model may have the end without the cost, which is written with it: a
  // success without its result would look like one that has none.
  const isEarly = row.status === 'succeeded' && !row.settled
  return {
    family: row.family,
    platformId: row.platformId,
    nativeId: row.nativeId ?? undefined,
    model: row.model,
    status: isEarly ? 'running' : row.status,
    settings: { ...row.settings, ...known(row.output) },
    callerMarker: row.markerIsOurs ? undefined : row.marker,
    usage: isEarly ? undefined : (row.usage ?? undefined),
    error: row.error ?? undefined,
    urls: shown && urls !== undefined && Object.keys(urls).length > 0 ? urls : undefined,
    createdAtMs: row.requestedAtMs,
    updatedAtMs: row.updatedAtMs,
    observedAtMs: row.observedAtMs ?? undefined,
  }
}

/** The log gets this long: the caller waits for a task's state, not for its cost. */
const LOG_TIMEOUT_MS = 1_000

/**
 * The settled amount of a task: from the ledger, or from the task's own events while the ledger
 * does not have them. Undefined for an unsettled task, and while neither can be read.
 */
export async function costOfTask(
  { pool, log, logger }: Pick<TaskDeps, 'pool' | 'log' | 'logger'>,
  { platformId, status, settled }: Pick<TaskRow, 'platformId' | 'status' | 'settled'>,
): Promise<Cost | undefined> {
  if (status !== 'succeeded' || !settled) return undefined
  try {
    const known = await settledSource(pool, platformId)
    if (known !== undefined) return costOf(known)
    const task = await withTimeout(LOG_TIMEOUT_MS, loadTask(log, platformId), () => undefined)
    const settlement = task?.phase === 'ended' ? task.settlement : undefined
    return settlement && costOf(settlement)
  } catch (error) {
    logger.info(
      { platformId, err: error },
      'the cost of a task could not be read; the answer leaves it out',
    )
    return undefined
  }
}
