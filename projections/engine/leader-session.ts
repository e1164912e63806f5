import type { Clock } from '../../src/kernel/clock.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { pause } from '../../src/kernel/pause.ts'
import { readCheckpoint, readCheckpoints } from './checkpoint.ts'
import { isTransient, messageOf } from './failures.ts'
import { prepareFollower, stopFollower, type Follower } from './follower.ts'
import { requireHeld, stopBeforeOlderLog } from './older-log.ts'
import { rebuildProjection, RebuildRunningError } from './rebuild.ts'
import { type GroupOptions, openFirstGroup, openSharingGroup } from './subscription-groups.ts'
import type { Projection } from './types.ts'
import { upgradeInPlace } from './upgrade.ts'

/** How often the leader checks whether a stopped projection may continue. */
const STOPPED_CHECK_MS = 5_000
/** How often the leader checks the progress of another process's rebuild. */
const REBUILDING_CHECK_MS = 1_000
/** A program older than one of the read models leads for so long at a time, so that a newer one may. */
const OUTDATED_SESSION_MS = 5_000

/** State of a leader session while it lasts. */
export interface LeaderSession {
  readonly followers: readonly Follower[]
  readonly buffered: () => number
  readonly caughtUp: () => boolean
}

interface SessionOptions extends GroupOptions {
  readonly projections: readonly Projection[]
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onSession: (session: LeaderSession) => void
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

/**
 * True once it is of this program's version, changed in its place or whichever process rebuilt it; one that cannot
 * be rebuilt is stopped.
 */
async function rebuildOne(
  options: SessionOptions,
  follower: Follower,
  signal: AbortSignal,
): Promise<boolean> {
  const { pool, logger } = options
  const { projection } = follower
  const fields = { projection: projection.name, version: projection.version }
  if (await upgradeInPlace({ pool, logger, signal }, projection)) return true
  if (signal.aborted) return false
  logger.info(fields, 'rebuilding a projection of an older version')
  for (;;) {
    try {
      const result = await rebuildProjection({ ...options, projection, signal })
      logger.info({ ...fields, outcome: result.outcome }, 'rebuilt')
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (error instanceof RebuildRunningError) {
        await pause(REBUILDING_CHECK_MS, signal)
        if ((await readCheckpoint(pool, projection.name))?.version === projection.version)
          return true
        continue
      }
      logger.error({ ...fields, err: error }, 'rebuild failed')
      if (isTransient(error)) throw error
      await stopFollower(pool, follower, { kind: 'rebuild_failed', reason: messageOf(error) })
      return false
    }
  }
}

/**
 * Rebuilds the projections of an older version while the others follow the log. True when one was
 * rebuilt: the leader session then starts again with it. @throws temporary failures.
 */
async function rebuildStale(
  options: SessionOptions,
  followers: readonly Follower[],
  signal: AbortSignal,
): Promise<boolean> {
  let rebuilt = false
  for (const follower of followers)
    if (follower.state === 'rebuilding' && !signal.aborted)
      rebuilt = (await rebuildOne(options, follower, signal)) || rebuilt
  return rebuilt
}

/**
 * Calls back when a stopped projection may continue: another process rebuilt it, or the log has the
 * applied events again.
 */
function watchStopped(
  { pool, log }: Pick<SessionOptions, 'pool' | 'log'>,
  followers: readonly Follower[],
  onRebuilt: () => void,
): NodeJS.Timeout {
  const look = async (): Promise<void> => {
    const stopped = followers.filter(({ state, stopped }) => state === 'stopped' && stopped)
    if (stopped.length === 0) return
    const checkpoints = await readCheckpoints(pool)
    const rebuilt = stopped.some(({ projection: { name, version } }) => {
      const found = checkpoints.get(name)
      return found?.version === version && found.stopped === undefined
    })
    if (rebuilt) return onRebuilt()
    const older = stopped.filter(({ stopped }) => stopped?.kind === 'log_older')
    if (older.length === 0) return
    await requireHeld(
      log,
      pool,
      older.map(({ projection }) => projection),
    )
    onRebuilt()
  }
  // A failure to look is a failure that following will meet as well.
  const timer = setInterval(() => void look().catch(() => undefined), STOPPED_CHECK_MS)
  timer.unref()
  return timer
}

/**
 * Follows the log until the signal aborts or a rebuilt projection has to join. True when it ended
 * so that a newer program can lead, because only that one can update projections of its version.
 * @throws on failure.
 */
export async function runLeaderSession(options: SessionOptions): Promise<boolean> {
  const { pool, projections, clock } = options
  const followers: Follower[] = []
  for (const projection of projections)
    followers.push(await prepareFollower(pool, projection, clock))
  await stopBeforeOlderLog(options, followers)

  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const end = (): void => ending.abort()
  const watching = watchStopped(options, followers, end)
  const outdated = followers.some(({ stopped }) => stopped?.kind === 'newer_version')
  const yielding = outdated ? setTimeout(end, OUTDATED_SESSION_MS) : undefined
  const rebuilding = rebuildStale(options, followers, signal).then(
    (rebuilt) => {
      if (rebuilt) end()
    },
    (error: unknown) => {
      ending.abort(error)
      throw error
    },
  )
  // The rebuild is awaited below; until then its failure must not count as unhandled.
  rebuilding.catch(() => undefined)

  try {
    const hasOwnGroup = ({ projection }: Follower): boolean => projection.ownGroup === true
    const together = followers.filter((follower) => !hasOwnGroup(follower))
    const first = openFirstGroup(options, together, signal)
    const sharing = followers
      .filter(hasOwnGroup)
      .flatMap((follower) => openSharingGroup(options, [follower], signal, first?.feed) ?? [])
    const groups = first === undefined ? sharing : [first.group, ...sharing]
    options.onSession({
      followers,
      buffered: () => groups[0]?.buffered() ?? 0,
      caughtUp: () => groups.every((group) => group.caughtUp()),
    })
    if (groups.length === 0) await aborted(signal)
    else
      await allSettledOrThrow(
        groups.map((group) =>
          group.run().catch((error: unknown) => {
            ending.abort(error)
            throw error
          }),
        ),
      )
  } finally {
    clearInterval(watching)
    clearTimeout(yielding)
    end()
    await rebuilding
  }
  return outdated && !options.signal.aborted
}
