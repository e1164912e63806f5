import type { Pool } from 'pg'
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
    const reason =
      `the log does not hold event ${lastEvent.id} (revision ${lastEvent.revision} of ` +
      `${lastEvent.stream}), the last that this read model has applied: the log is older than the ` +
      'read model, or another one. Restore the newer log, or, if what it had is lost for good, ' +
      `build the read model from this one: tollgate rebuild ${name} --force`
    deps.logger.error({ projection: name, reason }, 'the log is older than a read model')
    await stopFollower(deps.pool, follower, { kind: 'log_older', reason, eventId: lastEvent.id })
  }
}

async function holds(
  log: Pick<EventLog, 'readStream'>,
  { id, stream, revision }: EventReference,
): Promise<boolean> {
  const [event] = await log.readStream(stream, { from: BigInt(revision), limit: 1 })
  return event?.id === id
}
