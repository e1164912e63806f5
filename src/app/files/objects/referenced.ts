import type { Pool } from 'pg'
import { waitForPosition } from '../../../../projections/engine/wait.ts'
import { filesDeleted, filesThere } from '../../../../projections/files/query.ts'
import { tasksEnded, tasksWithoutEnd } from '../../../../projections/tasks/query.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { FILES, PAYLOADS } from '../../../storage/object-key.ts'

/** Objects that are kept for as long as something in the log needs them. */
export interface Referenced {
  /** What their keys begin with; an id follows, and what may stand below it. */
  readonly prefix: string
  /** Those of some ids that are still needed: of objects that are ours, all others can go. */
  readonly needed: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  /** Those of some ids that were ours and are not needed: where objects may be another's, only these can go. */
  readonly ended: (ids: readonly string[]) => Promise<ReadonlySet<string>>
}

/** A read model further behind than this for so long says nothing about what is needed. */
const CATCH_UP_MS = 5_000

/**
 * An object is written before the event that needs it. Those old enough to be asked about had their
 * event before this reads where the log ends, or never will: a read model that came this far knows.
 */
async function untilRead(pool: Pool, log: EventLog, projection: string): Promise<void> {
  const end = await log.endPosition()
  if (end !== undefined && !(await waitForPosition(pool, projection, end, CATCH_UP_MS)))
    throw new Error(`the ${projection} read model is behind: nothing is purged by it`)
}

/** What requests of open tasks are kept as. */
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

/** The bytes of files that are there; those of no file were left by an upload or a deletion cut short. */
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
