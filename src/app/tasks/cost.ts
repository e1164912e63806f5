import { settledSource } from '../../../projections/ledger/query.ts'
import type { TaskRow } from '../../../projections/tasks/query.ts'
import { type Cost, costOf } from '../../domain/pricing/cost.ts'
import { within } from '../../kernel/pause.ts'
import { loadTask } from './commands.ts'
import type { TaskDeps } from './deps.ts'

/** The log is asked for no longer: whoever queries a task waits for its state, not for what it cost. */
const LOG_TIMEOUT_MS = 1_000

/**
 * What a task was settled at: out of the ledger, or of the task's own events where the ledger has not
 * come to them yet. Undefined for one that is not settled, and while neither can be read.
 */
export async function costOfTask(
  { pool, log, logger }: Pick<TaskDeps, 'pool' | 'log' | 'logger'>,
  { platformId, status, settled }: Pick<TaskRow, 'platformId' | 'status' | 'settled'>,
): Promise<Cost | undefined> {
  if (status !== 'succeeded' || !settled) return undefined
  try {
    const known = await settledSource(pool, platformId)
    if (known !== undefined) return costOf(known)
    const task = await within(LOG_TIMEOUT_MS, loadTask(log, platformId), () => undefined)
    const settlement = task?.phase === 'ended' ? task.settlement : undefined
    return settlement && costOf(settlement)
  } catch (error) {
    logger.info({ platformId, err: error }, 'what a task cost cannot be told')
    return undefined
  }
}
