import type { Pool } from 'pg'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { findTask, type TaskRow } from '../../../projections/tasks/query.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isPlatformId } from '../../kernel/ids.ts'
import type { ReadModels } from '../read-models/read-models.ts'
import type { RecentWrites } from './recent-writes.ts'

/** Reads wait for the writes of their process: what the log has, a read shows. */

/** The projection may take this long to catch up before an id counts as missing. */
const CONFIRM_ABSENCE_MS = 3_000
/** A process waits at most this long to read its own write. */
const CATCH_UP_MS = 1_500

interface FindDeps {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'readStream' | 'endPosition'>
  readonly recent: RecentWrites
  readonly readModels: ReadModels
}

/**
 * Waits until reads include the writes of this process for the tenant, by this read model's
 * `recent`; gives up without an error.
 */
export async function catchUp(
  deps: Pick<FindDeps, 'pool' | 'recent'>,
  readModel: 'tasks' | 'assets',
  tenantId: string,
): Promise<void> {
  const position = deps.recent.of(tenantId)
  if (position === undefined) return
  if (await waitForPosition(deps.pool, readModel, position, CATCH_UP_MS))
    deps.recent.projected(tenantId, position)
}

/** Waits until the task's row shows an append; false when it does not in time. */
export function isProjected(
  deps: Pick<FindDeps, 'pool'>,
  position: bigint | undefined,
): Promise<boolean> {
  if (position === undefined) return Promise.resolve(true)
  return waitForPosition(deps.pool, 'tasks', position, CATCH_UP_MS)
}

/**
 * A tenant's visible task by platform or native id.
 * @throws DomainError `task_not_found` once the log confirmed it, `read_model_behind`; the log's
 *   codes when it cannot
 */
export async function findOwnTask(
  deps: FindDeps,
  key: {
    readonly tenantId: string
    /** The families whose tasks the caller asks for. */
    readonly families: readonly string[]
    readonly id: string
  },
): Promise<TaskRow> {
  await deps.readModels.requireCurrent('tasks')
  await catchUp(deps, 'tasks', key.tenantId)
  const known = await findTask(deps.pool, key)
  if (known !== undefined) return known
  if (await mayBeBehind(deps, key)) {
    const found = await findTask(deps.pool, key)
    if (found !== undefined) return found
  }
  throw new DomainError('task_not_found', 'the task does not exist', {})
}

/**
 * As `findOwnTask`; a row without a native id is trusted only once the projection has passed the
 * log's end, because another replica may have submitted the task a moment ago.
 * @throws `read_model_behind` when that takes too long
 */
export async function findOwnSubmittedTask(
  deps: FindDeps,
  key: Parameters<typeof findOwnTask>[1],
): Promise<TaskRow> {
  const row = await findOwnTask(deps, key)
  if (row.nativeId !== null) return row
  const end = await deps.log.endPosition()
  if (!(await isProjected(deps, end))) throw behind()
  return findOwnTask(deps, key)
}

/**
 * Waits for the projection to pass the current end of the log; false if there is nothing to wait
 * for.
 */
async function mayBeBehind(
  deps: FindDeps,
  { tenantId, families, id }: Parameters<typeof findOwnTask>[1],
): Promise<boolean> {
  if (isPlatformId(id)) {
    // The id names its stream, so one read shows whether there is anything to wait for.
    const [first] = await deps.log.readStream(taskStream(id), { limit: 1 })
    if (first?.type !== 'TaskRequested') return false
    // Another tenant's task counts as missing (P8), and so does one of another family.
    if (first.data.tenantId !== tenantId || !families.includes(first.data.family)) return false
  }
  const end = await deps.log.endPosition()
  if (end === undefined) return false
  if (await waitForPosition(deps.pool, 'tasks', end, CONFIRM_ABSENCE_MS)) return true
  throw behind()
}

function behind(): DomainError {
  return new DomainError('read_model_behind', 'the read model is behind the event log', {})
}
