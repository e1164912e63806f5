import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { pause, withTimeout } from '../../kernel/pause.ts'
import { memoizeFor } from '../../platform/memoize.ts'
import { type ReadModelState, readModelStates, type ReadModelStatesDeps } from './states.ts'

/** Decides whether a route may answer from its read model. */

/** A read model further behind than this would mislead its readers. */
const MAX_READ_MODEL_LAG_MS = 30_000
/** All requests within this time share one look. */
export const LOOK_FOR_MS = 1_000
/** The log must answer within this; without an answer the lag is unknown. */
const LOOK_TIMEOUT_MS = 1_000
/**
 * Before a request is refused for a lag, the gateway looks again: after an idle hour the first
 * event makes a read model that has not processed it seem an hour behind for a moment.
 */
const LOOK_AGAIN_MS = LOOK_FOR_MS + 100

export interface ReadModels {
  /** The state of each read model. @throws errors of the log or the database */
  readonly states: () => Promise<readonly ReadModelState[]>
  /** @throws DomainError `read_model_behind` when it is halted or too far behind */
  readonly requireCurrent: (name: string) => Promise<void>
}

/**
 * The reason why a read model may not be read; undefined if it may. One of an older version may
 * always be read: its successor is being built.
 */
export function shortcomingOf(state: ReadModelState): string | undefined {
  if (state.stopped !== undefined) return `stands still: ${state.stopped}`
  if (state.rebuilding) return undefined
  if (state.position === undefined) return 'has not run yet'
  return state.lagMs > MAX_READ_MODEL_LAG_MS ? `is ${state.lagMs} ms behind` : undefined
}

export function createReadModels(
  deps: ReadModelStatesDeps & { readonly lookClock?: Clock },
): ReadModels {
  const states = memoizeFor(LOOK_FOR_MS, readModelStates(deps), deps.lookClock ?? monotonicClock)
  const look = async (name: string): Promise<ReadModelState | undefined> => {
    // Without the log no new event is written, and without the database the read itself fails.
    const unknown = (): readonly ReadModelState[] => []
    const all = await withTimeout(LOOK_TIMEOUT_MS, states().catch(unknown), unknown)
    return all.find((state) => state.name === name)
  }
  return {
    states,
    requireCurrent: async (name) => {
      let state = await look(name)
      if (state === undefined || shortcomingOf(state) === undefined) return
      if (state.stopped === undefined) {
        await pause(LOOK_AGAIN_MS)
        state = await look(name)
      }
      const shortcoming = state && shortcomingOf(state)
      if (shortcoming === undefined) return
      throw new DomainError(
        'read_model_behind',
        'this read model is behind the event log; try again later',
        {
          reason: `the ${name} read model ${shortcoming}`,
        },
      )
    },
  }
}
