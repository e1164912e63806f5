import type { PolicySet, WorkerSettings } from '../../queue/worker.ts'
import type { TaskDeps } from '../deps.ts'
import { createObserve } from '../observe.ts'
import { createPoller } from './poll.ts'
import { createReconcileRound } from './reconcile.ts'
import { createSweep } from './sweep.ts'
import { createWatchRound } from './late-tasks.ts'

/** Interval at which an idle policy looks for work. */
const POLL_IDLE_MS = 200
/** Maximum delay until new work is noticed while nothing is due. */
const LONGEST_POLL_IDLE_MS = 600
const RECONCILE_IDLE_MS = 1_000
const LONGEST_RECONCILE_IDLE_MS = 3_000
const WATCH_IDLE_MS = 5_000
const SWEEP_IDLE_MS = 2_000
/**
 * Interval at which answers are written to the rows of held tasks, however often they are polled.
 */
const SEEN_IDLE_MS = 2_000

/**
 * The background policies of tasks: polling, reconciliation, expiry (part of both), the watch over
 * given-up tasks, and tidying.
 */
export function taskPolicies(deps: TaskDeps, settings: WorkerSettings): PolicySet {
  const observe = createObserve(deps)
  const sweep = createSweep(deps, settings)
  const poller = createPoller(deps, observe, settings)
  return {
    policies: [
      {
        name: 'poll',
        idleMs: POLL_IDLE_MS,
        longestIdleMs: LONGEST_POLL_IDLE_MS,
        round: poller.round,
      },
      {
        name: 'reconcile',
        idleMs: RECONCILE_IDLE_MS,
        longestIdleMs: LONGEST_RECONCILE_IDLE_MS,
        round: createReconcileRound(deps, observe, settings),
      },
      { name: 'watch', idleMs: WATCH_IDLE_MS, round: createWatchRound(deps, settings) },
    ],
    housekeeping: [
      { name: 'seen', idleMs: SEEN_IDLE_MS, round: poller.writeSeen },
      { name: 'sweep', idleMs: SWEEP_IDLE_MS, round: sweep.round },
    ],
    drain: poller.drain,
    leave: sweep.stop,
  }
}
