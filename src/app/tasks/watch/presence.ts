import type { Pool } from 'pg'
import { monotonicClock } from '../../../kernel/clock.ts'
import { releasePolls } from '../../../../projections/tasks/query.ts'
import { forgetWorkers, renewWorker, silentWorkers } from './workers.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Frees at once what a process that died had leased. Silence is not death: a worker that was
 * paused, or cut off from the database, may go on with tasks that others have taken. That only
 * asks upstream twice, for every change is decided on the log and a reschedule on the lease.
 */

/** A worker silent for this long is taken for dead; renewing fails a few times before that. */
const SILENT_MS = 5_000

export interface Presence {
  /** Renews our own word and frees what silent workers hold. */
  readonly round: () => Promise<'idle'>
  /** Whether others know that we live: only then is anything leased. */
  readonly known: () => boolean
  /** Frees what we hold ourselves: nobody has to wait for our silence. */
  readonly leave: () => Promise<void>
}

export function createPresence(
  deps: Pick<TaskDeps, 'pool' | 'clock' | 'logger'>,
  owner: string,
): Presence {
  const { pool, clock, logger } = deps
  let renewedMs = Number.NEGATIVE_INFINITY
  return {
    known: () => monotonicClock.nowMs() - renewedMs < SILENT_MS,
    round: async () => {
      const sentMs = monotonicClock.nowMs()
      await renewWorker(pool, owner)
      renewedMs = sentMs
      const silent = await silentWorkers(pool, SILENT_MS)
      if (silent.length === 0) return 'idle'
      const released = await free(pool, silent, clock.nowMs(), SILENT_MS)
      logger.warn({ owners: silent, released }, 'leases of silent workers freed')
      return 'idle'
    },
    leave: async () => {
      renewedMs = Number.NEGATIVE_INFINITY
      await free(pool, [owner], clock.nowMs(), 0)
    },
  }
}

/** Forgotten last: whoever dies in between leaves it to the next to do both again. */
async function free(
  pool: Pool,
  owners: readonly string[],
  nowMs: number,
  silentMs: number,
): Promise<number> {
  const released = await releasePolls(pool, owners, nowMs)
  await forgetWorkers(pool, owners, silentMs)
  return released
}
