import type { StopReason } from '../../../projections/engine/failures.ts'
import { countPassedOver } from '../../../projections/engine/passed-over.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { readStatus } from '../../../projections/engine/status.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { unreachable } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'

/** State of a read model relative to the log. */
export interface ReadModelState {
  readonly name: string
  /** Position of the last event considered, as text; undefined before the first run. */
  readonly position: string | undefined
  /** Age of the oldest event not yet processed; 0 when there is none. */
  readonly lagMs: number
  /** Why it is halted, if it is; without any data of events. */
  readonly stopped: string | undefined
  /** Events that it passed over because they contradict earlier ones. */
  readonly passedOver: number
  /** Whether the tables have an older version: callers read them until the projector has built the new ones. */
  readonly rebuilding: boolean
}

export interface ReadModelStatesDeps {
  readonly db: Queryable
  readonly projections: readonly Pick<Projection, 'name' | 'version'>[]
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly clock: Clock
}

/** Why a read model is halted, without any data of its events. */
function wordsFor({ kind, position, type }: StopReason, name: string): string {
  switch (kind) {
    case 'cannot_apply':
      return `event ${position ?? '?'} of type ${type ?? '?'} cannot be applied`
    case 'newer_version':
      return 'it was built by a newer version of the gateway'
    case 'rebuild_failed':
      return `it could not be rebuilt: run tollgate rebuild ${name}`
    case 'log_older':
      return `the log is older than it, or is another log: restore the newer log, or run tollgate rebuild ${name} --force`
    default:
      return unreachable(kind)
  }
}

/**
 * The state of every read model relative to the log. A lag is at most the time since it was last
 * zero: the first event after an idle hour does not mean a lag of an hour.
 */
export function readModelStates(
  deps: ReadModelStatesDeps,
): () => Promise<readonly ReadModelState[]> {
  const caughtUpMs = new Map<string, number>()
  return async () => {
    const end = await deps.logEnd()
    const nowMs = deps.clock.nowMs()
    const passedOver = await countPassedOver(deps.db)
    const statuses = await readStatus(deps.db, deps.projections, end, nowMs)
    return statuses.map(({ name, state, position, lagSeconds, stopped }) => {
      if (end === undefined || position >= end) caughtUpMs.set(name, nowMs)
      const knownMs = caughtUpMs.get(name)
      const lagMs = Math.round(lagSeconds * 1_000)
      return {
        name,
        position: position < 0n ? undefined : String(position),
        lagMs: knownMs === undefined ? lagMs : Math.min(lagMs, nowMs - knownMs),
        stopped: stopped && wordsFor(stopped, name),
        passedOver: passedOver.get(name) ?? 0,
        rebuilding: state === 'rebuilding',
      }
    })
  }
}
