import type { Backlog } from '../../app/calls/metrics.ts'
import type { StartedCalls } from '../../app/calls/start.ts'
import { LOOK_FOR_MS, shortcomingOf } from '../../app/read-models/read-models.ts'
import type { ReadModelState } from '../../app/read-models/states.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { withTimeout } from '../../kernel/pause.ts'
import { memoizeFor } from '../../platform/memoize.ts'

/**
 * A dependency that the gateway cannot work without. `probe` rejects or returns false while it is
 * unavailable.
 */
interface Dependency {
  /** e.g. `event_log`, `postgres`. */
  readonly name: string
  readonly probe: () => Promise<boolean>
  /** Why it counts as unavailable, if the cause is known to be no outage. */
  readonly why?: () => string | undefined
}

/**
 * Above this share of the spool's bound a process should get no more work: the settlements of an
 * outage might not fit.
 */
const SPOOL_FULL_SHARE = 0.75
/**
 * The backlog of an outage drains faster than this: one that waits longer does not drain as it
 * should.
 */
const SPOOL_OLD_MS = 60_000

/** A problem with which a replica continues to work: it is degraded, not down. */
interface Concern {
  /** e.g. `prices`. */
  readonly name: string
  /** The present problems, in words; empty if there are none. */
  readonly look: () => Promise<readonly string[]>
}

/**
 * Reports the records of the spool that wait for an operator: until then their calls are not
 * billed.
 */
export function setAsideConcern(count: StartedCalls['setAside']): Concern {
  const look = async (): Promise<readonly string[]> => {
    const { refused, damaged } = await count()
    const words = [
      refused > 0 ? `the log permanently refused ${refused} record(s)` : undefined,
      damaged > 0 ? `${damaged} damaged record(s) are in the spool` : undefined,
    ]
    return words.flatMap((each) =>
      each === undefined ? [] : [`${each}: see "tollgate spool list"`],
    )
  }
  return { name: 'spool', look }
}

export interface Health {
  readonly dependencies: readonly Dependency[]
  readonly projections: () => Promise<readonly ReadModelState[]>
  readonly concerns: readonly Concern[]
  /** Absent if there is no spool. */
  readonly spool?: () => Backlog
  /** False before everything has started and once draining has begun. */
  readonly accepting: () => boolean
  /** Why the work of this process does not run, in words; empty while it does. */
  readonly hindrances?: () => readonly string[]
  /** Whether this process updates the read models; absent where it never does. */
  readonly projector?: () => ProjectorRole
}

/** `leads`: it updates the read models; `follows`: another process does, and this one takes over from it. */
export type ProjectorRole = 'leads' | 'follows' | 'starting'

/** A problem as it is now. */
export interface Problem {
  readonly words: string
  /** Whether the process is not ready because of it. */
  readonly isReason: boolean
  /** Time since a check first found it. */
  readonly forMs: number
  /** The error of the last check, where it threw one; for operators alone. */
  readonly lastError: string | undefined
}

export interface Readiness {
  readonly ready: boolean
  /** Each reason and each word of `degraded`, with since when. */
  readonly problems: readonly Problem[]
  /** Why it is not ready. */
  readonly reasons: readonly string[]
  /** Names of problems that the operator must look at although the gateway serves. */
  readonly degraded: readonly string[]
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>
  readonly projections: readonly ReadModelState[]
  readonly spool?: Backlog
  readonly projector?: ProjectorRole
}

/** After this time without an answer a dependency counts as unavailable. */
const PROBE_TIMEOUT_MS = 2_000

/** Runs a probe; one that takes too long has failed. */
export async function withProbeTimeout<T>(work: () => Promise<T>): Promise<T> {
  return await withTimeout(PROBE_TIMEOUT_MS, work(), () => {
    throw new Error('the probe took too long')
  })
}

/** The state of a dependency, and the error of its probe. */
interface Probed {
  readonly isUp: boolean
  readonly error?: string
}

/** Returns the message of an error. Where several addresses of a host failed, the message is that of the first one. */
function messageOf(error: unknown): string {
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error
  return one instanceof Error ? one.message : String(one)
}

async function probe(dependency: Dependency): Promise<Probed> {
  try {
    return { isUp: await withProbeTimeout(dependency.probe) }
  } catch (error) {
    return { isUp: false, error: messageOf(error) }
  }
}

async function lookAt({ name, look }: Concern): Promise<readonly string[]> {
  const found = await withProbeTimeout(look).catch(() => ['the check did not answer in time'])
  return found.map((what) => `${name}: ${what}`)
}

function isFull({ sizeBytes, maxBytes }: Backlog): boolean {
  return sizeBytes > maxBytes * SPOOL_FULL_SHARE
}

/** The results of all checks. */
type CheckResults = Omit<Readiness, 'ready' | 'problems' | 'spool' | 'projector'> & {
  /** The errors of probes, by the reason that they are. */
  readonly errors: ReadonlyMap<string, string>
}

/**
 * Describes a read model that cannot answer: the routes that read it report that, other routes
 * work.
 */
function lookAtProjections(states: readonly ReadModelState[] | undefined): readonly string[] {
  if (states === undefined) return ['read models: their state could not be read in time']
  return states.flatMap((state) => {
    const shortcoming = shortcomingOf(state)
    if (shortcoming !== undefined) return [`read models: ${state.name} ${shortcoming}`]
    if (!state.rebuilding) return []
    return [`read models: ${state.name} serves an older version until its rebuild is done`]
  })
}

/** Runs all checks in parallel; never throws. */
async function lookAround(health: Health): Promise<CheckResults> {
  const [probed, projections, degraded] = await Promise.all([
    Promise.all(health.dependencies.map(probe)),
    withProbeTimeout(health.projections).catch(() => undefined),
    Promise.all(health.concerns.map(lookAt)),
  ])
  const states = health.dependencies.map(({ name }, index) => [
    name,
    probed[index]?.isUp === true ? ('up' as const) : ('down' as const),
  ])
  const down = health.dependencies.flatMap(({ name, why }, index) => {
    const { isUp = false, error } = probed[index] ?? {}
    return isUp ? [] : [{ reason: why?.() ?? `${name} is down`, error }]
  })
  return {
    reasons: down.map(({ reason }) => reason),
    errors: new Map(
      down.flatMap(({ reason, error }) => (error === undefined ? [] : [[reason, error] as const])),
    ),
    degraded: [...degraded.flat(), ...lookAtProjections(projections)],
    dependencies: Object.fromEntries(states) as Record<string, 'up' | 'down'>,
    projections: projections ?? [],
  }
}

/** Notes when each problem was first found; figures in its words may change meanwhile. */
function createProblemTimes(clock: Clock): (words: readonly string[]) => (words: string) => number {
  let since = new Map<string, number>()
  const keyOf = (words: string): string => words.replaceAll(/\d+/g, '#')
  return (all) => {
    const nowMs = clock.nowMs()
    since = new Map(all.map(keyOf).map((key) => [key, since.get(key) ?? nowMs]))
    return (words) => nowMs - (since.get(keyOf(words)) ?? nowMs)
  }
}

/** One look at each health serves all of its readers, so that probes of `/readyz` note since when. */
const readers = new WeakMap<Health, () => Promise<Readiness>>()

/**
 * Reports whether new requests should come here. All probes share the results of remote checks for
 * a while; the state of the process itself, such as its shutdown, is reported immediately.
 */
export function createReadiness(
  health: Health,
  clock: Clock = monotonicClock,
): () => Promise<Readiness> {
  const made = readers.get(health) ?? readinessOf(health, clock)
  readers.set(health, made)
  return made
}

function readinessOf(health: Health, clock: Clock): () => Promise<Readiness> {
  const found = memoizeFor(LOOK_FOR_MS, () => lookAround(health), clock)
  const timesOf = createProblemTimes(clock)
  return async () => {
    const { reasons, degraded, errors, ...rest } = await found()
    const spool = health.spool?.()
    const all = [
      ...(health.accepting() ? [] : ['not accepting: starting or draining']),
      ...(health.hindrances?.() ?? []),
      ...reasons,
      ...(spool !== undefined && isFull(spool)
        ? [`the spool holds ${spool.sizeBytes} of at most ${spool.maxBytes} bytes`]
        : []),
      ...(spool?.fault === undefined ? [] : [`the spool cannot be written: ${spool.fault}`]),
    ]
    const concerns = [
      ...degraded,
      ...(spool !== undefined && spool.ageMs > SPOOL_OLD_MS
        ? [`spool: ${spool.records} records wait for the log, the oldest for ${spool.ageMs} ms`]
        : []),
    ]
    const forMs = timesOf([...all, ...concerns])
    const problemOf = (isReason: boolean) => (words: string) => {
      return { words, isReason, forMs: forMs(words), lastError: errors.get(words) }
    }
    return {
      ready: all.length === 0,
      reasons: all,
      degraded: concerns,
      problems: [...all.map(problemOf(true)), ...concerns.map(problemOf(false))],
      ...rest,
      ...(spool === undefined ? {} : { spool }),
      ...(health.projector === undefined ? {} : { projector: health.projector() }),
    }
  }
}
