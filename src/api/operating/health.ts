import type { Backlog } from '../../app/calls/journal-metrics.ts'
import { within } from '../../kernel/pause.ts'

/** Something the gateway cannot work without. `probe` rejects, or answers false, when it is away. */
export interface Dependency {
  /** e.g. `event_log`, `postgres`. */
  readonly name: string
  readonly probe: () => Promise<boolean>
  /** Why it counts as away, when that is known to be something else than an outage. */
  readonly why?: () => string | undefined
}

/** How far a read model is behind the log. */
export interface ProjectionState {
  readonly name: string
  /** Position of the last event considered, as text; undefined before the first run. */
  readonly position: string | undefined
  /** How old the oldest event not yet considered is; 0 when there is none. */
  readonly lagMs: number
  /** Why it stands still, if it does: said without any data. */
  readonly stopped: string | undefined
}

/** Past this share of its bound a process should get no more work: an outage might not fit. */
const SPOOL_FULL_SHARE = 0.75
/** A backlog of an outage is gone sooner: what waits longer does not drain as it should. */
const SPOOL_OLD_MS = 60_000

/** Something that may be wrong and that a replica works on beside: it degrades, it does not stop. */
export interface Concern {
  /** e.g. `prices`. */
  readonly name: string
  /** What is wrong at the moment, in words; nothing when all is well. */
  readonly look: () => Promise<readonly string[]>
}

export interface Health {
  readonly dependencies: readonly Dependency[]
  readonly projections: () => Promise<readonly ProjectionState[]>
  readonly concerns: readonly Concern[]
  /** Absent where nothing is spooled. */
  readonly spool?: () => Backlog
  /** Beyond this a read model is not ready to answer from. */
  readonly maxLagMs: number
  /** False before everything has started and once draining has begun. */
  readonly accepting: () => boolean
}

export interface Readiness {
  readonly ready: boolean
  /** Why it is not ready. */
  readonly reasons: readonly string[]
  /** It serves, and somebody must look: each by its name. */
  readonly degraded: readonly string[]
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>
  readonly projections: readonly ProjectionState[]
  readonly spool?: Backlog
}

/** How long one probe may take before it counts as away. */
export const PROBE_TIMEOUT_MS = 2_000

/** Runs a probe; one that takes too long has failed. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  return await within(PROBE_TIMEOUT_MS, work(), () => {
    throw new Error('the probe took too long')
  })
}

async function isUp(dependency: Dependency): Promise<boolean> {
  try {
    return await inTime(dependency.probe)
  } catch {
    return false
  }
}

async function lookAt({ name, look }: Concern): Promise<readonly string[]> {
  const found = await inTime(look).catch(() => ['it cannot be told at the moment'])
  return found.map((what) => `${name}: ${what}`)
}

function isFull({ sizeBytes, maxBytes }: Backlog): boolean {
  return sizeBytes > maxBytes * SPOOL_FULL_SHARE
}

/** Asks everything at once and says what is missing; never throws. */
export async function readReadiness(health: Health): Promise<Readiness> {
  const [up, projections, degraded] = await Promise.all([
    Promise.all(health.dependencies.map(isUp)),
    inTime(health.projections).catch(() => undefined),
    Promise.all(health.concerns.map(lookAt)),
  ])
  const states = health.dependencies.map(({ name }, index) => [
    name,
    up[index] === true ? ('up' as const) : ('down' as const),
  ])
  const spool = health.spool?.()
  const reasons = [
    ...(health.accepting() ? [] : ['not accepting: starting or draining']),
    ...health.dependencies
      .filter((_, index) => up[index] !== true)
      .map(({ name, why }) => why?.() ?? `${name} is down`),
    ...(projections === undefined ? ['the state of the projections is unknown'] : []),
    ...(projections ?? []).flatMap((projection) => {
      if (projection.stopped !== undefined)
        return [`projection ${projection.name} stands still: ${projection.stopped}`]
      if (projection.position === undefined)
        return [`projection ${projection.name} has not run yet`]
      return projection.lagMs > health.maxLagMs
        ? [`projection ${projection.name} is ${projection.lagMs} ms behind`]
        : []
    }),
    ...(spool !== undefined && isFull(spool)
      ? [`the spool holds ${spool.sizeBytes} of at most ${spool.maxBytes} bytes`]
      : []),
  ]
  return {
    ready: reasons.length === 0,
    reasons,
    degraded: [
      ...degraded.flat(),
      ...(spool !== undefined && spool.ageMs > SPOOL_OLD_MS
        ? [`spool: ${spool.records} records wait, the oldest for ${spool.ageMs} ms`]
        : []),
    ],
    dependencies: Object.fromEntries(states) as Record<string, 'up' | 'down'>,
    projections: projections ?? [],
    ...(spool === undefined ? {} : { spool }),
  }
}
