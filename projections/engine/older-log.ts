import type { Pool } from 'pg'
import { logUnavailable } from '../../src/eventlog/log/errors.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { isDomainError } from '../../src/kernel/errors.ts'
import type { Log } from '../../src/kernel/log.ts'
import { type EventReference, readCheckpoints } from './checkpoint.ts'
import { stopFollower, type Follower } from './follower.ts'
import type { Queryable } from './queryable.ts'
import type { Projection } from './types.ts'

interface Deps {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'readStream'>
  readonly logger: Log
}

/**
 * Stops every projection whose last event the log does not hold: the log was restored from a backup
 * that is older than the read models, or is another one. Following it would skip new events at
 * positions that the read models have already passed. @throws `log_unavailable`
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
    const reason = new LogOlderError([name], lastEvent).message
    deps.logger.error({ projection: name, reason }, 'the log is older than a read model')
    await stopFollower(deps.pool, follower, { kind: 'log_older', reason, eventId: lastEvent.id })
  }
}

/**
 * Looks up in the log the last event that each read model has applied. An event that this program
 * cannot read counts as held: a newer program wrote it.
 * @returns whether there was one. @throws LogOlderError, `log_unavailable`
 */
export async function requireHeld(
  log: Pick<EventLog, 'readStream'>,
  db: Queryable,
  projections: readonly Pick<Projection, 'name'>[],
): Promise<boolean> {
  const checkpoints = await readCheckpoints(db)
  const held = new Map<string, boolean>()
  const lacking: { readonly name: string; readonly event: EventReference }[] = []
  for (const { name } of projections) {
    const event = checkpoints.get(name)?.lastEvent
    if (event === undefined) continue
    const isHeld = held.get(event.id) ?? (await mayHold(log, event))
    held.set(event.id, isHeld)
    if (!isHeld) lacking.push({ name, event })
  }
  const names = lacking.map(({ name }) => name)
  if (lacking[0] !== undefined) throw new LogOlderError(names, lacking[0].event)
  return held.size > 0
}

async function mayHold(log: Pick<EventLog, 'readStream'>, event: EventReference): Promise<boolean> {
  try {
    return await holds(log, event)
  } catch (error) {
    if (isDomainError(error, 'event_invalid')) return true
    throw error
  }
}

/** The log does not have events that read models have applied: it is older, or another one. */
export class LogOlderError extends Error {
  override readonly name = 'LogOlderError'
  readonly code = 'log_older'

  constructor(readModels: readonly string[], { id, stream, revision }: EventReference) {
    const names = readModels.join(', ')
    super(
      `the log does not hold event ${id} (revision ${revision} of ${stream}), the last that was ` +
        `applied to ${names}: the log is older than the database, or another one. ` +
        'Restore the newer log, or give the right one. If what it had is lost for good, build the ' +
        `read models from this one: tollgate rebuild ${readModels.join(' ')} --force`,
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
  if (!(await holds(log, event))) return new LogOlderError([readModel], event)
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
