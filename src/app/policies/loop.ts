import { sleep } from '../pace.ts'
import type { TaskDeps } from '../tasks/deps.ts'

/** Rests between rounds that failed: doubled up to the longest, never given up. */
const FIRST_REST_MS = 500
const LONGEST_REST_MS = 15_000

/**
 * Runs rounds until stopped. A round says whether there is more to do at once; otherwise, the loop
 * rests. A round that fails is counted and tried again later.
 */
export async function runLoop(
  deps: Pick<TaskDeps, 'logger' | 'metrics'>,
  policy: string,
  idleMs: number,
  signal: AbortSignal,
  round: (signal: AbortSignal) => Promise<'more' | 'idle'>,
): Promise<void> {
  let restMs = FIRST_REST_MS
  while (!signal.aborted) {
    try {
      const outcome = await round(signal)
      restMs = FIRST_REST_MS
      if (outcome === 'idle') await sleep(idleMs * (0.75 + Math.random() / 2), signal)
    } catch (error) {
      if (signal.aborted) return
      deps.metrics.policyFailures.inc({ policy })
      deps.logger.warn({ policy, err: error }, 'policy round failed')
      await sleep(restMs * (0.75 + Math.random() / 2), signal)
      restMs = Math.min(restMs * 2, LONGEST_REST_MS)
    }
  }
}
