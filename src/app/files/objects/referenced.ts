import type { Pool } from 'pg'
import { waitForPosition } from '../../../../projections/engine/wait.ts'
import { filesDeleted, filesThere } from '../../../../projections/files/query.ts'
import { tasksEnded, tasksWithoutEnd } from '../../../../projections/tasks/query.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { FILES, PAYLOADS } from '../../../storage/object-key.ts'

/** Objects that are stored as long as some event needs them. */
export interface Referenced {
  /** Prefix of their keys; an id follows, perhaps with a path below it. */
  readonly prefix: string
  /** The ids that are still needed: if all objects are ours, the others can be removed. */
  readonly needed: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * The ids that were ours and ended: only these can be removed if objects may belong to another
   * log.
   */
  readonly ended: (ids: readonly string[]) => Promise<ReadonlySet<string>>
}

/** After this wait a read model that is still behind cannot decide what is needed. */
const CATCH_UP_MS = 5_000

/**
 * An object is written before the event that needs it. Objects old enough to be checked had their
 * event before this reads the log's end, or never will: a read model that has reached that end
 * decides.
 */
async function untilRead(pool: Pool, log: EventLog, projection: string): Promise<void> {
  const end = await log.endPosition()
  if (end !== undefined && !(await waitForPosition(pool, projection, end, CATCH_UP_MS)))
    throw new Error(
      `the ${projection} read model is behind: objects that depend on it are not purged`,
    )
}

/** The stored requests of open tasks. */
export function referencedPayloads(pool: Pool, log: EventLog): Referenced {
  return {
    prefix: PAYLOADS,
    needed: async (platformIds) => {
      await untilRead(pool, log, 'tasks')
      return tasksWithoutEnd(pool, platformIds)
    },
    ended: (platformIds) => tasksEnded(pool, platformIds),
  }
}

/** The bytes of files; bytes without a file were left by an interrupted upload or deletion. */
export function referencedFiles(pool: Pool, log: EventLog, clock: Clock): Referenced {
  return {
    prefix: FILES,
    needed: async (fileIds) => {
      await untilRead(pool, log, 'files')
      return filesThere(pool, fileIds, clock.nowMs())
    },
    ended: (fileIds) => filesDeleted(pool, fileIds),
  }
}
