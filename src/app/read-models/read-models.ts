import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { pause, within } from '../../kernel/pause.ts'
import { remembered } from '../../kernel/remembered.ts'
import { type ReadModelState, readModelStates, type ReadModelStatesDeps } from './states.ts'

/** Whether what a route reads may be answered from. */

/** Further behind than this a read model misleads who reads it. */
export const MAX_READ_MODEL_LAG_MS = 30_000
/** Everybody who asks within this time gets the same look. */
export const LOOK_FOR_MS = 1_000
/** A log that does not answer tells nothing of a lag: nobody waits longer for it. */
const LOOK_TIMEOUT_MS = 1_000
/**
 * Before a reader is refused for a lag it is looked again, in a look of its own: after an idle hour the
 * first event makes what has not seen it yet an hour old for a moment.
 */
const LOOK_AGAIN_MS = LOOK_FOR_MS + 100

export interface ReadModels {
  /** How each stands. @throws what the log or the database throws */
  readonly states: () => Promise<readonly ReadModelState[]>
  /** @throws DomainError `read_model_behind` when it stands still or is too far behind */
  readonly requireCurrent: (name: string) => Promise<void>
}

/**
 * What keeps a read model from being answered from, in words; nothing when all is well. One of an older
 * version serves, however far it has come: its successor is being built.
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
  const states = remembered(LOOK_FOR_MS, readModelStates(deps), deps.lookClock ?? monotonicClock)
  const look = async (name: string): Promise<ReadModelState | undefined> => {
    // With the log away nothing new is written, and a database that is away fails the read itself.
    const unknown = (): readonly ReadModelState[] => []
    const all = await within(LOOK_TIMEOUT_MS, states().catch(unknown), unknown)
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
      throw new DomainError('read_model_behind', 'what this reads is behind the event log', {
        reason: `the ${name} read model ${shortcoming}`,
      })
    },
  }
}
