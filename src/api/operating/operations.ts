import type { Catalog } from '../../domain/catalog/catalog.ts'
import { latestEndMs, longestWaitsMs } from '../../domain/catalog/latest-end.ts'
import type { Pool } from 'pg'
import {
  awaitingUsage,
  pollBacklog,
  type UnclearTask,
  unclearTasks,
} from '../../../projections/tasks/query.ts'
import { type LastAudit, readLastAudit } from '../../app/audit/last-audit.ts'
import type { ChannelDirectory } from '../../app/channels/directory.ts'
import { type PresentWorker, presentWorkers } from '../../app/queue/presence.ts'
import { readSilentSpools, type SilentSpools } from '../../app/spending/lost-spools.ts'
import { RequestError } from '../kit/request-error.ts'
import { createReadiness, type Health, type Readiness, withProbeTimeout } from './health.ts'

/** Operators read here the figures of readiness and metrics, and the tasks behind them. */

/** Most tasks that one list names. */
export const MAX_UNCLEAR = 50

export interface OperationsReads {
  /** The state of this process, and of the read models. */
  readonly readiness: () => Promise<Readiness>
  readonly workers: () => Promise<readonly PresentWorker[]>
  /** Breakers of the channels in this process. */
  readonly channels: ChannelDirectory['health']
  /** Work in the background by its kind. */
  readonly work: (nowMs: number) => ReturnType<typeof pollBacklog>
  /** Tasks whose submission has no known outcome: at most 51. */
  readonly uncertain: () => Promise<readonly UnclearTask[]>
  /** Tasks that are made and whose usage is not known: how many, and at most 50 of them. */
  readonly withoutUsage: () => Promise<{
    readonly open: number
    readonly tasks: readonly UnclearTask[]
  }>
  /** Settlements that wait in spools of processes that have stopped reporting. */
  readonly silentSpools: () => Promise<readonly SilentSpools[]>
  /** Undefined: none ever ended. */
  readonly lastAudit: () => Promise<LastAudit | undefined>
}

/** Reads for a panel: a store that does not answer in time is an outage, in words. */
async function answered<Found>(read: () => Promise<Found>): Promise<Found> {
  try {
    return await withProbeTimeout(read)
  } catch (error) {
    throw new RequestError('outage', 'Postgres does not answer', undefined, error)
  }
}

/** The reads of operators over this process and its database. */
export function readOperations({
  db,
  health,
  channels,
  catalog,
}: {
  readonly db: Pool
  readonly health: Health
  readonly channels: Pick<ChannelDirectory, 'health'>
  readonly catalog: Pick<Catalog, 'taskFamily' | 'taskFamilies'>
}): OperationsReads {
  return {
    readiness: createReadiness(health),
    workers: () => answered(() => presentWorkers(db)),
    channels: channels.health,
    work: (nowMs) => answered(() => pollBacklog(db, nowMs)),
    uncertain: () => answered(() => unclearTasks(db, 'submission', MAX_UNCLEAR + 1)),
    withoutUsage: () =>
      answered(async () => {
        const [{ open }, tasks] = await Promise.all([
          awaitingUsage(db, longestWaitsMs(catalog.taskFamilies)),
          unclearTasks(db, 'usage', MAX_UNCLEAR),
        ])
        // Each of them is with its provider, and asked for beyond its deadline.
        const asked = tasks.map((task) => ({
          ...task,
          expiresAtMs: latestEndMs(catalog.taskFamily(task.family), task),
        }))
        return { open, tasks: asked }
      }),
    silentSpools: () => answered(() => readSilentSpools(db)),
    lastAudit: () => answered(() => readLastAudit(db)),
  }
}
