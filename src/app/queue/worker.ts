import { setMaxListeners } from 'node:events'
import { allOver } from '../../kernel/all-over.ts'
import { pause } from '../../kernel/pause.ts'
import { type Policy, type PolicyDeps, runLoop } from './policy-loop.ts'
import { createPresence, type Presence, type PresenceDeps } from './presence.ts'
import type { WorkTable } from './tables.ts'

/** How often a worker says that it lives, also after it could not. */
const PRESENCE_IDLE_MS = 1_000
/** A stop waits no longer for its leases to be freed: others will, once it is silent. */
const LEAVE_TIMEOUT_MS = 2_000

export interface WorkerSettings {
  /** Names this process in leases. */
  readonly owner: string
  /** Multiplies every interval. */
  readonly scale: number
}

/** What one part of the gateway has a worker do. */
export interface PolicySet {
  /** Their rounds run only while the others know that this process lives; their rests become shorter with the scale. */
  readonly policies: readonly Policy[]
  /** These lease nothing and run always. */
  readonly housekeeping?: readonly Policy[]
  /** Waits for what is under way beyond a round. */
  readonly drain?: () => Promise<void>
  /** Lets others go on with what this process led. */
  readonly leave?: () => Promise<void>
}

interface Worker {
  /** Stops taking work, lets what is under way end or break off, frees its leases, then resolves. */
  readonly stop: () => Promise<void>
}

type WorkerDeps = PresenceDeps & PolicyDeps

/**
 * Starts the background work of a process. Any number of replicas may run it at once; leases and expected
 * revisions keep them apart.
 *
 * @param tables all that hold leases of any process
 */
export function startWorker(
  deps: WorkerDeps,
  { owner, scale }: WorkerSettings,
  tables: readonly WorkTable[],
  sets: readonly PolicySet[],
): Worker {
  const stopping = new AbortController()
  const { signal } = stopping
  // Every exchange under way listens; how many those are is bounded by channel.
  setMaxListeners(0, signal)
  const presence = createPresence(deps, owner, tables)
  const scaled = (ms: number): number => ms * Math.min(1, scale)
  const whilePresent = (policy: Policy): Policy => ({
    ...policy,
    idleMs: scaled(policy.idleMs),
    longestIdleMs: scaled(policy.longestIdleMs ?? policy.idleMs),
    round: async (roundSignal) => (presence.known() ? policy.round(roundSignal) : 'idle'),
  })
  const policies = [
    presencePolicy(presence),
    ...sets.flatMap((set) => [...set.policies.map(whilePresent), ...(set.housekeeping ?? [])]),
  ]
  const loops = policies.map((policy) => runLoop(deps, policy, signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      await Promise.all(sets.map(async (set) => set.drain?.()))
      const leaving = sets.flatMap((set) => (set.leave === undefined ? [] : [set.leave()]))
      await leaveInTime(deps, [presence.leave(), ...leaving])
    },
  }
}

/**
 * Keeps a process that does no work present: others would take what it holds in Postgres otherwise.
 * Resolves once it is.
 */
export async function startPresence(
  deps: WorkerDeps,
  owner: string,
  tables: readonly WorkTable[],
): Promise<Worker> {
  const stopping = new AbortController()
  const presence = createPresence(deps, owner, tables)
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
  { logger }: Pick<WorkerDeps, 'logger'>,
  leaving: readonly Promise<void>[],
): Promise<void> {
  const patience = new AbortController()
  const left = allOver(leaving)
    .catch((error: unknown) => logger.warn({ err: error }, 'leases not freed'))
    .finally(() => patience.abort())
  await Promise.race([left, pause(LEAVE_TIMEOUT_MS, patience.signal)])
}
