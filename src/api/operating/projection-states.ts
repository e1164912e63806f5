import type { Queryable } from '../../../projections/engine/queryable.ts'
import { readStatus } from '../../../projections/engine/status.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Health } from './health.ts'

export interface ProjectionStatesDeps {
  readonly db: Queryable
  readonly projections: readonly Pick<Projection, 'name' | 'version'>[]
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly clock: Clock
}

/**
 * How far every read model is behind the log. A lag is never longer than the time since it was last
 * seen to be none: the first event after an idle hour is not an hour behind.
 */
export function projectionStates(deps: ProjectionStatesDeps): Health['projections'] {
  const caughtUpMs = new Map<string, number>()
  return async () => {
    const end = await deps.logEnd()
    const nowMs = deps.clock.nowMs()
    const statuses = await readStatus(deps.db, deps.projections, end, nowMs)
    return statuses.map(({ name, position, lagSeconds, stopped }) => {
      if (end === undefined || position >= end) caughtUpMs.set(name, nowMs)
      const knownMs = caughtUpMs.get(name)
      const lagMs = Math.round(lagSeconds * 1_000)
      return {
        name,
        position: position < 0n ? undefined : String(position),
        lagMs: knownMs === undefined ? lagMs : Math.min(lagMs, nowMs - knownMs),
        stopped:
          stopped === undefined
            ? undefined
            : `event ${stopped.position ?? '?'} of type ${stopped.type ?? '?'} cannot be applied`,
      }
    })
  }
}
