import { monotonicClock } from './clock.ts'
import type { Log } from './log.ts'

/** A repeated failure is logged at most this often. */
const REPEAT_MS = 30_000

/** For an operation that is retried for ever: logs its first failure, then one in 30 s. */
export interface RetryLog {
  readonly failed: (fields: object, message: string) => void
  /** Called after a success: the next failure counts as a first one. */
  readonly worked: () => void
}

/** `nowMs` reads a clock that never goes back. */
export function createRetryLog(
  logger: Pick<Log, 'warn'>,
  nowMs: () => number = () => monotonicClock.nowMs(),
): RetryLog {
  let saidMs: number | undefined
  let unsaid = 0
  return {
    failed: (fields, message) => {
      if (saidMs !== undefined && nowMs() - saidMs < REPEAT_MS) {
        unsaid += 1
        return
      }
      logger.warn(unsaid === 0 ? fields : { ...fields, failuresUnsaid: unsaid }, message)
      saidMs = nowMs()
      unsaid = 0
    },
    worked: () => {
      saidMs = undefined
      unsaid = 0
    },
  }
}
