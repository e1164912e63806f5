import { Pool } from 'pg'
import pino from 'pino'
import { allProjections } from '../../projections/registry.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { startProjections } from '../../projections/engine/engine.ts'
import { waitForPosition } from '../../projections/engine/checkpoint.ts'
import { loadConfig, type Config } from '../config.ts'
import { createEventLog } from '../eventlog/client.ts'
import type { EventLog } from '../eventlog/types.ts'
import { CommandError } from './output.ts'
import { openStores } from './stores.ts'

/** What a command beside `serve` works with: the log, Postgres and the configuration. */
export interface Session {
  readonly config: Config
  readonly log: EventLog
  readonly pool: Pool
  /** Waits until a read model has passed a position. @throws CommandError when it does not in time */
  readonly projected: (name: string, position: bigint | undefined) => Promise<void>
}

const POOL_SIZE = 4
const PROJECTED_TIMEOUT_MS = 30_000

/**
 * Opens the stores, runs the command, lets go. Beside no running gateway the projections run too, so
 * that what the command reads is what the log says.
 */
export async function withSession<T>(run: (session: Session) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const logger = pino({ level: 'warn', base: null }, pino.destination(2))
  const stores = await openStores(config, logger)
  const pool = new Pool({ connectionString: stores.databaseUrl, max: POOL_SIZE })
  pool.on('error', () => undefined)
  const projectionPool = new Pool({
    connectionString: stores.databaseUrl,
    max: allProjections.length + 2,
  })
  projectionPool.on('error', () => undefined)
  const log = createEventLog({
    url: stores.eventStoreUrl,
    namespace: config.namespace,
    log: logger,
  })
  try {
    await migrateEngine(pool)
    const engine = startProjections({
      pool: projectionPool,
      log,
      projections: allProjections,
      logger,
    })
    try {
      return await run({
        config,
        log,
        pool,
        projected: async (name, position) => {
          if (position === undefined) return
          if (!(await waitForPosition(pool, name, position, PROJECTED_TIMEOUT_MS)))
            throw new CommandError(`the ${name} read model is behind the log; try again`)
        },
      })
    } finally {
      await engine.stop()
    }
  } finally {
    await log.close()
    await Promise.all([pool.end(), projectionPool.end()])
    await stores.close()
  }
}
