import { NoAnswerError } from './client-internals.ts'
import { logUnavailable } from './errors.ts'
import { eventsThrough, isBehind, type LogPosition } from './position.ts'
import { isAnyBehind, readPlace, readRetrying, type ReadDeps } from './read.ts'
import { readLastRequest, readTipRequest } from './wire.ts'

/** Finds the position of our last event in a log that others may fill faster than we do. */
export interface EndFinder {
  /** Nothing of ours up to there needs to be looked for: it was read. */
  readonly passed: (at: LogPosition) => void
  /**
   * At least the position of our last event: where nothing is behind what was passed, how far that
   * reached. Undefined in an empty log, or while nothing of ours was ever there.
   * @throws `log_unavailable`
   */
  readonly find: () => Promise<bigint | undefined>
}

/**
 * The server searches others' events for ours, one by one and without saying how far it has come.
 * So each search ends where the one before began, and a silent one does not count against the log:
 * the tip, which is found at once, says whether it answers.
 */
export function createEndFinder(deps: ReadDeps): EndFinder {
  let searched: LogPosition | undefined
  let last: bigint | undefined
  /** How far what was passed reached. */
  let floor: bigint | undefined

  const searchedTo = (at: LogPosition) => {
    if (searched === undefined || isBehind(at, searched)) searched = at
  }
  const known = () => (floor !== undefined && (last === undefined || floor > last) ? floor : last)
  const search = async (): Promise<bigint | undefined> => {
    try {
      if (searched !== undefined && !(await isAnyBehind(deps, deps.prefixes, searched))) return last
      return (await readPlace(deps, readLastRequest(deps.prefixes)))?.commit
    } catch (error) {
      if (error instanceof NoAnswerError)
        throw logUnavailable('our last event was not found in time')
      throw error
    }
  }
  return {
    passed: (at) => {
      const reached = eventsThrough(at)
      if (floor === undefined || reached > floor) floor = reached
      searchedTo(at)
    },
    find: async () => {
      const tip = await readRetrying(deps, (tryMs) => readPlace(deps, readTipRequest(), tryMs))
      if (tip === undefined) return undefined
      if (searched !== undefined && !isBehind(tip, searched)) return known()
      const found = await readRetrying(deps, search)
      if (found !== undefined && (last === undefined || found > last)) last = found
      searchedTo(tip)
      return known()
    },
  }
}
