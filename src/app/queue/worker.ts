import { setMaxListeners } from 'node:events'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { pause } from '../../kernel/pause.ts'
import { type Policy, type PolicyDeps, runLoop } from './policy-loop.ts'
import { createPresence, type Presence, type PresenceDeps } from './presence.ts'
import type { WorkTable } from './tables.ts'

/** Interval at which a worker renews its heartbeat, also after a failure. */
const PRESENCE_IDLE_MS = 1_000
/**
 * Maximum time for which a stop frees its leases: other processes free them once this one is
 * silent.
 */
const LEAVE_TIMEOUT_MS = 2_000

export interface WorkerSettings {
  /** Names this process in leases. */
  readonly owner: string
  /** Factor on every interval. */
  readonly scale: number
}

/** The work that one part of the gateway gives to workers. */
export interface PolicySet {
  /** Rounds that only run while others see this process as alive; the scale shortens rests. */
  readonly policies: readonly Policy[]
  /** Rounds that lease nothing, and always run. */
  readonly housekeeping?: readonly Policy[]
  /** Waits for work that outlives a round. */
  readonly drain?: () => Promise<void>
  /** Gives up leadership, so that another process can lead. */
  readonly leave?: () => Promise<void>
}

/** The background work of a process. */
export interface Worker {
  /** Takes no more work, lets running work end or abort, frees its leases, then resolves. */
  readonly stop: () => Promise<void>
  /** Whether others see this process as alive: its rounds run only then. */
  readonly isPresent: () => boolean
}

type WorkerDeps = PresenceDeps & PolicyDeps

/**
 * Starts the background work of a process. Any number of replicas may run it at once; leases and
 * expected revisions keep them apart.
 *
 * @param tables all that have leases of any process
 */
export function startWorker(
  deps: WorkerDeps,
  { owner, scale }: WorkerSettings,
  tables: readonly WorkTable[],
  sets: readonly PolicySet[],
): Worker {
  const stopping = new AbortController()
  const { signal } = stopping
  // Every running exchange listens to it; each channel bounds their number.
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
    isPresent: presence.known,
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
 * Keeps a process without background work present: otherwise other processes would take its claims
 * in Postgres. Resolves once it is present.
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
    isPresent: presence.known,
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
  const left = allSettledOrThrow(leaving)
    .catch((error: unknown) => logger.warn({ err: error }, 'leases not freed'))
    .finally(() => patience.abort())
  await Promise.race([left, pause(LEAVE_TIMEOUT_MS, patience.signal)])
}
