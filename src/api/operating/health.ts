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
  /** Beyond this a read model is not ready to answer from. */
  readonly maxLagMs: number
  /** False before everything has started and once draining has begun. */
  readonly accepting: () => boolean
}

export interface Readiness {
  readonly ready: boolean
  readonly reasons: readonly string[]
  /** What a ready replica does without, each by its name. */
  readonly degraded: readonly string[]
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>
  readonly projections: readonly ProjectionState[]
}

/** How long one probe may take before it counts as away. */
export const PROBE_TIMEOUT_MS = 2_000

/** Runs a probe; one that takes too long has failed. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the probe took too long'))
    }, PROBE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
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
  ]
  return {
    ready: reasons.length === 0,
    reasons,
    degraded: degraded.flat(),
    dependencies: Object.fromEntries(states) as Record<string, 'up' | 'down'>,
    projections: projections ?? [],
  }
}
