import type { Log } from '../../kernel/log.ts'
import { pause, roomyPause } from '../../kernel/pause.ts'
import { randomlyScaled } from '../../kernel/random.ts'
import { createRetryLog } from '../../kernel/retry-log.ts'
import type { TaskMetrics } from '../metrics.ts'

/** Rests between failed rounds: doubled up to the longest; the loop never gives up. */
const FIRST_REST_MS = 500
const LONGEST_REST_MS = 15_000

/** The dependencies of a policy loop. */
export interface PolicyDeps {
  readonly logger: Log
  readonly metrics: Pick<TaskMetrics, 'policyFailures'>
}

/** `more`: more work is due now; `some`: all due work was done; `idle`: there was none. */
export type RoundOutcome = 'more' | 'some' | 'idle'

/** Factor on the rest after each idle round. */
const IDLE_GROWTH = 1.5

export interface Policy {
  readonly name: string
  /** The rest after a round that did all due work. */
  readonly idleMs: number
  /** Maximum rest after idle rounds, up to which the rest grows; absent: it does not grow. */
  readonly longestIdleMs?: number
  /** The longest rest after failed rounds. */
  readonly longestRestMs?: number
  readonly round: (signal: AbortSignal) => Promise<RoundOutcome>
}

/** Runs rounds until stopped. It counts a failed round and retries later. */
export async function runLoop(
  deps: PolicyDeps,
  policy: Policy,
  signal: AbortSignal,
): Promise<void> {
  const { name, idleMs, round, longestRestMs = LONGEST_REST_MS } = policy
  const { longestIdleMs = idleMs } = policy
  const firstRestMs = Math.min(FIRST_REST_MS, longestRestMs)
  const retries = createRetryLog(deps.logger)
  deps.metrics.policyFailures.inc({ policy: name }, 0)
  let restMs = firstRestMs
  let idleRestMs = idleMs
  while (!signal.aborted) {
    try {
      const outcome = await round(signal)
      restMs = firstRestMs
      retries.worked()
      if (outcome !== 'idle') idleRestMs = idleMs
      if (outcome !== 'more') await roomyPause(0.75 * idleRestMs, 1.25 * idleRestMs, signal)
      if (outcome === 'idle') idleRestMs = Math.min(idleRestMs * IDLE_GROWTH, longestIdleMs)
    } catch (error) {
      if (signal.aborted) return
      deps.metrics.policyFailures.inc({ policy: name })
      retries.failed({ policy: name, err: error }, 'policy round failed')
      await pause(randomlyScaled(restMs, 0.75, 1.25), signal)
      restMs = Math.min(restMs * 2, longestRestMs)
    }
  }
}
