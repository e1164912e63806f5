import type { TaskDeps } from '../tasks/deps.ts'
import { createObserve } from '../tasks/observe.ts'
import { runLoop } from './loop.ts'
import { createPoller, type PolicySettings } from './poll.ts'
import { createReconcileRound } from './reconcile.ts'
import { createSweepRound } from './sweep.ts'

/** How often an idle policy looks for work. */
const POLL_IDLE_MS = 200
const RECONCILE_IDLE_MS = 1_000
const SWEEP_IDLE_MS = 2_000

export interface Policies {
  /** Stops taking work, lets what is under way end or break off, then resolves. */
  readonly stop: () => Promise<void>
}

/**
 * Starts the background reactions: polling, reconciliation, expiry (part of both) and tidying. Any
 * number of replicas may run them at once; leases and expected revisions keep them apart.
 */
export function startPolicies(deps: TaskDeps, settings: PolicySettings): Policies {
  const stopping = new AbortController()
  const { signal } = stopping
  const observe = createObserve(deps)
  const poller = createPoller(deps, observe, settings)
  const reconcile = createReconcileRound(deps, observe, settings)
  const idle = (ms: number): number => ms * Math.min(1, settings.scale)
  const loops = [
    runLoop(deps, 'poll', idle(POLL_IDLE_MS), signal, poller.round),
    runLoop(deps, 'reconcile', idle(RECONCILE_IDLE_MS), signal, reconcile),
    runLoop(deps, 'sweep', SWEEP_IDLE_MS, signal, createSweepRound(deps)),
  ]
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      await poller.drain()
    },
  }
}
