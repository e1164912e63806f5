import { runForAll } from '../../platform/sharer-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { randomlyScaled } from '../../kernel/random.ts'
import { pause } from '../../kernel/pause.ts'

/**
 * Retries events that could not be appended; the reconciler finds tasks whose events are lost here.
 */

const MAX_PENDING = 1_000
const GIVE_UP_AFTER_MS = 10 * 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000

export interface BackgroundAppends {
  /**
   * Runs `work` again until it succeeds, fails for good, or its time is over. False when too many
   * are waiting: then only the reconciler will find it.
   */
  readonly keepTrying: (name: string, platformId: string, work: () => Promise<unknown>) => boolean
  readonly pending: () => number
  /** Stops retrying and waits for the running work. */
  readonly stop: () => Promise<void>
}

/** Whether a retry may help. */
export function isLogOutage(error: unknown): boolean {
  return (
    isDomainError(error, 'log_unavailable') ||
    isDomainError(error, 'log_outcome_unknown') ||
    isDomainError(error, 'wrong_expected_revision')
  )
}

export function createBackgroundAppends(deps: {
  readonly clock: Clock
  readonly logger: Log
}): BackgroundAppends {
  const stopping = new AbortController()
  const tasks = new Set<Promise<void>>()

  const persist = async (name: string, platformId: string, work: () => Promise<unknown>) => {
    const untilMs = deps.clock.nowMs() + GIVE_UP_AFTER_MS
    let pauseMs = FIRST_PAUSE_MS
    while (!stopping.signal.aborted) {
      await pause(randomlyScaled(pauseMs, 0.75, 1.25), stopping.signal)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      try {
        await work()
        deps.logger.info({ platformId, append: name }, 'late append landed')
        return
      } catch (error) {
        const outage = isLogOutage(error)
        if (outage && deps.clock.nowMs() < untilMs) continue
        deps.logger.warn({ platformId, append: name, err: error }, 'late append given up')
        return
      }
    }
  }

  return {
    pending: () => tasks.size,
    keepTrying: (name, platformId, work) => {
      if (tasks.size >= MAX_PENDING || stopping.signal.aborted) return false
      const task = runForAll(() => persist(name, platformId, work)).finally(() =>
        tasks.delete(task),
      )
      tasks.add(task)
      return true
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(tasks)
    },
  }
}
