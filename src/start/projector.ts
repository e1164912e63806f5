import { startProjections } from '../../projections/engine/engine.ts'
import { allProjections } from '../../projections/registry.ts'
import { openPool } from '../storage/postgres/pool.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { systemClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { ProjectorRole } from '../api/operating/health.ts'

/** Connections for the engine's leadership, its digests and one spare. */
export const SPARE_CONNECTIONS = 3
/** Statements of a projection may be large. */
const QUERY_TIMEOUT_MS = 600_000

interface ProjectorOptions {
  readonly databaseUrl: string
  readonly log: EventLog
  readonly logger: Log
}

/** The updates of read models in this process. */
export interface StartedProjector {
  readonly stop: () => Promise<void>
  readonly role: () => ProjectorRole
  /** The failure after which it starts again; undefined while it works. */
  readonly fault: () => string | undefined
}

/** Updates the read models on its own connections. Tables must exist. */
export function startProjector({ databaseUrl, log, logger }: ProjectorOptions): StartedProjector {
  const pool = openPool({
    databaseUrl,
    max: allProjections.length + SPARE_CONNECTIONS,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    onLost: (error) => logger.warn({ err: error.message }, 'idle database connection lost'),
  })
  const engine = startProjections({
    pool,
    log,
    projections: allProjections,
    clock: systemClock,
    logger,
  })
  return {
    stop: async () => {
      await engine.stop()
      await pool.end()
    },
    role: () => {
      const { leading, following } = engine.status()
      return leading ? 'leads' : following ? 'follows' : 'starting'
    },
    fault: () => engine.status().lastError,
  }
}
