import { setMaxListeners } from 'node:events'
import { allOver } from '../../../kernel/all-over.ts'
import { pause } from '../../../kernel/pause.ts'
import { type Policy, runLoop } from '../../queue/policy-loop.ts'
import type { TaskDeps } from '../deps.ts'
import { createObserve } from '../observe.ts'
import { createPoller, type PolicySettings } from './poll.ts'
import { createPresence, type Presence } from './presence.ts'
import { createReconcileRound } from './reconcile.ts'
import { createSweep } from './sweep.ts'
import { createWatchRound } from './late.ts'

/** How often an idle policy looks for work. */
const POLL_IDLE_MS = 200
/** What becomes due while nothing was is late by this at most. */
const LONGEST_POLL_IDLE_MS = 600
const RECONCILE_IDLE_MS = 1_000
const LONGEST_RECONCILE_IDLE_MS = 3_000
const WATCH_IDLE_MS = 5_000
const SWEEP_IDLE_MS = 2_000
/** How often rows of held tasks are told when upstream last answered, however often it is asked. */
const SEEN_IDLE_MS = 2_000
/** How often a worker says that it lives, also after it could not. */
const PRESENCE_IDLE_MS = 1_000
/** A stop waits no longer for its leases to be freed: others will, once it is silent. */
const LEAVE_TIMEOUT_MS = 2_000

/** What a family's own workers do beside what every task needs. */
export interface FurtherPolicies {
  readonly policies: readonly Policy[]
  /** Waits for what is under way beyond a round. */
  readonly drain?: () => Promise<void>
}

export interface Policies {
  /** Stops taking work, lets what is under way end or break off, frees its leases, then resolves. */
  readonly stop: () => Promise<void>
}

/**
 * Starts the background reactions: polling, reconciliation, expiry (part of both), the watch over what was given
 * up, and tidying. Any
 * number of replicas may run them at once; leases and expected revisions keep them apart.
 */
export function startPolicies(
  deps: TaskDeps,
  settings: PolicySettings,
  further: readonly FurtherPolicies[] = [],
): Policies {
  const stopping = new AbortController()
  const { signal } = stopping
  // Every exchange under way listens; how many those are is bounded by channel.
  setMaxListeners(0, signal)
  const observe = createObserve(deps)
  const presence = createPresence(deps, settings.owner)
  const sweep = createSweep(deps, settings)
  const poller = createPoller(deps, observe, settings)
  const reconcile = createReconcileRound(deps, observe, settings)
  const idle = (ms: number): number => ms * Math.min(1, settings.scale)
  const whileKnown =
    (round: Policy['round']): Policy['round'] =>
    async (roundSignal) =>
      presence.known() ? round(roundSignal) : 'idle'
  const policies: readonly Policy[] = [
    presencePolicy(presence),
    {
      name: 'poll',
      idleMs: idle(POLL_IDLE_MS),
      longestIdleMs: idle(LONGEST_POLL_IDLE_MS),
      round: whileKnown(poller.round),
    },
    {
      name: 'reconcile',
      idleMs: idle(RECONCILE_IDLE_MS),
      longestIdleMs: idle(LONGEST_RECONCILE_IDLE_MS),
      round: whileKnown(reconcile),
    },
    {
      name: 'watch',
      idleMs: idle(WATCH_IDLE_MS),
      round: whileKnown(createWatchRound(deps, settings)),
    },
    { name: 'seen', idleMs: SEEN_IDLE_MS, round: poller.writeSeen },
    { name: 'sweep', idleMs: SWEEP_IDLE_MS, round: sweep.round },
    ...further
      .flatMap((each) => each.policies)
      .map((policy) => ({
        ...policy,
        idleMs: idle(policy.idleMs),
        longestIdleMs: idle(policy.longestIdleMs ?? policy.idleMs),
        round: whileKnown(policy.round),
      })),
  ]
  const loops = policies.map((policy) => runLoop(deps, policy, signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      await Promise.all([poller.drain(), ...further.map((each) => each.drain?.())])
      await leaveInTime(deps, [presence.leave(), sweep.stop()])
    },
  }
}

/**
 * Keeps a process that runs no policies present: others would take what it holds in Postgres otherwise.
 * Resolves once it is.
 */
export async function startPresence(
  deps: Pick<TaskDeps, 'pool' | 'clock' | 'monotonic' | 'logger' | 'metrics'>,
  owner: string,
): Promise<Policies> {
  const stopping = new AbortController()
  const presence = createPresence(deps, owner)
  await presence.round()
  const loop = runLoop(deps, presencePolicy(presence), stopping.signal)
  return {
    stop: async () => {
      stopping.abort()
      await loop
      await leaveInTime(deps, [presence.leave()])
    },
  }
}

const presencePolicy = ({ round }: Presence): Policy => ({
  name: 'presence',
  idleMs: PRESENCE_IDLE_MS,
  longestRestMs: PRESENCE_IDLE_MS,
  round,
})

async function leaveInTime(
  { logger }: Pick<TaskDeps, 'logger'>,
  leaving: readonly Promise<void>[],
): Promise<void> {
  const patience = new AbortController()
  const left = allOver(leaving)
    .catch((error: unknown) => logger.warn({ err: error }, 'leases not freed'))
    .finally(() => patience.abort())
  await Promise.race([left, pause(LEAVE_TIMEOUT_MS, patience.signal)])
}
