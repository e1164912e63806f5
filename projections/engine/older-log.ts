import type { Pool } from 'pg'
import { logUnavailable } from '../../src/eventlog/log/errors.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { EventReference } from './checkpoint.ts'
import { stopFollower, type Follower } from './follower.ts'

interface Deps {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'readStream'>
  readonly logger: Log
}

/**
 * Stops every projection whose last event the log does not hold: the log was restored from a backup
 * that is older than the read models, or is another one. Following it would skip what is written
 * next at positions the read models believe to have passed. @throws `log_unavailable`
 */
export async function stopBeforeOlderLog(
  deps: Deps,
  followers: readonly Follower[],
): Promise<void> {
  const held = new Map<string, boolean>()
  for (const follower of followers) {
    const { lastEvent, projection } = follower
    if (follower.state !== 'following' || lastEvent === undefined) continue
    const known = held.get(lastEvent.id)
    const isHeld = known ?? (await holds(deps.log, lastEvent))
    held.set(lastEvent.id, isHeld)
    if (isHeld) continue
    const { name } = projection
    const reason = new LogOlderError(name, lastEvent).message
    deps.logger.error({ projection: name, reason }, 'the log is older than a read model')
    await stopFollower(deps.pool, follower, { kind: 'log_older', reason, eventId: lastEvent.id })
  }
}

/** The log does not hold what a read model has applied: it is older than that, or another one. */
export class LogOlderError extends Error {
  override readonly name = 'LogOlderError'
  readonly code = 'log_older'

  constructor(readModel: string, { id, stream, revision }: EventReference) {
    super(
      `the log does not hold event ${id} (revision ${revision} of ${stream}), the last that the ` +
        `${readModel} read model has applied: the log is older than the read model, or another one. ` +
        'Restore the newer log, or, if what it had is lost for good, build the read model from this ' +
        `one: tollgate rebuild ${readModel} --force`,
    )
  }
}

/**
 * Why a read of the log to its end did not meet the last event that a read model has applied: the
 * node that answered is behind (`log_unavailable`), or the log does not hold it.
 */
export async function notMet(
  log: Pick<EventLog, 'readStream'>,
  readModel: string,
  event: EventReference,
): Promise<Error> {
  if (!(await holds(log, event))) return new LogOlderError(readModel, event)
  return logUnavailable(
    `what was read of it ended before event ${event.id} (revision ${event.revision} of ` +
      `${event.stream}), which it holds: the node that answered is behind`,
  )
}

async function holds(
  log: Pick<EventLog, 'readStream'>,
  { id, stream, revision }: EventReference,
): Promise<boolean> {
  const [event] = await log.readStream(stream, { from: BigInt(revision), limit: 1 })
  return event?.id === id
}
