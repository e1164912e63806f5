import { readCheckpoints } from './checkpoint.ts'
import type { StopReason } from './failures.ts'
import type { FollowerState } from './follower.ts'
import type { Queryable } from './queryable.ts'
import type { Projection } from './types.ts'

/** Status of one projection. */
export interface ProjectionStatus {
  readonly name: string
  readonly state: FollowerState
  /** Position of the last event considered; -1 before the first. */
  readonly position: bigint
  /** Events that another projection or the log's end shows and this one has not yet considered. */
  readonly lagEvents: number
  /** Age of the last event considered while there are later ones; 0 when there are none. */
  readonly lagSeconds: number
  readonly stopped: StopReason | undefined
}

/** Seconds since a time, never negative; 0 without one. */
export function secondsSince(time: Date | undefined, nowMs: number): number {
  return time === undefined ? 0 : Math.max(0, (nowMs - time.getTime()) / 1_000)
}

/**
 * Status of the projections by their checkpoints: the same in every process, whichever leads. `end`
 * is the position of the log's last event, if known. Lag in events is counted against the
 * projection that has come furthest.
 */
export async function readStatus(
  db: Queryable,
  projections: readonly Pick<Projection, 'name' | 'version'>[],
  end: bigint | undefined,
  nowMs: number,
): Promise<readonly ProjectionStatus[]> {
  const checkpoints = await readCheckpoints(db)
  const furthest = projections.reduce((most, { name }) => {
    const events = checkpoints.get(name)?.events ?? 0n
    return events > most ? events : most
  }, 0n)
  return projections.map(({ name, version }): ProjectionStatus => {
    const found = checkpoints.get(name)
    const position = found?.position ?? -1n
    const behind = end !== undefined && position < end
    return {
      name,
      state:
        found?.stopped !== undefined
          ? 'stopped'
          : found !== undefined && found.version < version
            ? 'rebuilding'
            : 'following',
      position,
      lagEvents: Number(furthest - (found?.events ?? 0n)),
      lagSeconds: behind ? secondsSince(found?.recordedAt, nowMs) : 0,
      stopped: found?.stopped,
    }
  })
}
