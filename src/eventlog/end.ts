import { NoAnswerError } from './client-internals.ts'
import { logUnavailable } from './errors.ts'
import { isBehind, type LogPosition } from './position.ts'
import { isAnyBehind, readPlace, readRetrying, type ReadDeps } from './read.ts'
import { readLastRequest, readTipRequest } from './wire.ts'

/** Finds the position of our last event in a log that others may fill faster than we do. */
export interface EndFinder {
  /** Nothing of ours up to there needs to be looked for again. */
  readonly passed: (at: LogPosition) => void
  /**
   * Undefined when there is no event of ours, or none behind what was passed.
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

  const passed = (at: LogPosition) => {
    if (searched === undefined || isBehind(at, searched)) searched = at
  }
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
    passed,
    find: async () => {
      const tip = await readRetrying(deps, (tryMs) => readPlace(deps, readTipRequest(), tryMs))
      if (tip === undefined) return undefined
      if (searched !== undefined && !isBehind(tip, searched)) return last
      const found = await readRetrying(deps, search)
      if (found !== undefined && (last === undefined || found > last)) last = found
      passed(tip)
      return last
    },
  }
}
