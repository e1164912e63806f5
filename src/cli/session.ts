import { Pool } from 'pg'
import pino from 'pino'
import { allProjections } from '../../projections/registry.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { startProjections } from '../../projections/engine/engine.ts'
import { readFirstPlace, waitForPosition } from '../../projections/engine/checkpoint.ts'
import { surviveLostConnections } from '../app/database/pool.ts'
import { loadConfig, type Config } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { systemClock } from '../kernel/clock.ts'
import { note } from './output.ts'
import { openStores, type OpenedStores } from './stores.ts'

/** What a command beside `serve` works with: the log, Postgres and the configuration. */
export interface Session {
  readonly config: Config
  readonly log: EventLog
  readonly pool: Pool
  /** Waits until a read model shows what was written at a position; says so when it does not in time. */
  readonly projected: (name: string, position: bigint | undefined) => Promise<void>
  /** Waits until a read model has reached the end of the log; false when it does not in time. */
  readonly caughtUp: (name: string) => Promise<boolean>
}

const POOL_SIZE = 4
const PROJECTED_TIMEOUT_MS = 10_000
const CAUGHT_UP_TIMEOUT_MS = 30_000

/**
 * Opens the stores, runs the command, lets go. Beside no running gateway the projections run too, so
 * that what the command reads is what the log says.
 */
export async function withSession<T>(run: (session: Session) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const logger = pino({ level: 'warn', base: null }, pino.destination(2))
  const closers: (() => Promise<unknown>)[] = []
  try {
    const stores = await openStores(config, logger)
    closers.unshift(() => stores.close())
    const pool = createPool(stores, POOL_SIZE)
    closers.unshift(() => pool.end())
    const log = createEventLog({
      url: stores.eventStoreUrl,
      namespace: config.namespace,
      log: logger,
    })
    closers.unshift(() => log.close())
    await migrateEngine(pool, allProjections)
    const projected = await readFirstPlace(pool, allProjections)
    if (projected !== undefined) log.passed(projected)
    if (!stores.served) {
      const own = createPool(stores, allProjections.length + 2)
      closers.unshift(() => own.end())
      const engine = startProjections({
        pool: own,
        log,
        projections: allProjections,
        clock: systemClock,
        logger,
      })
      closers.unshift(() => engine.stop())
    }
    return await run({ config, log, pool, ...waits(log, pool) })
  } finally {
    // The command's own failure is the one to tell.
    for (const close of closers)
      await close().catch((error: unknown) => logger.warn({ err: error }, 'closing failed'))
  }
}

function createPool({ databaseUrl }: OpenedStores, max: number): Pool {
  const pool = new Pool({
    connectionString: databaseUrl,
    max,
    application_name: 'tollgate',
    pipeline: true,
  })
  surviveLostConnections(pool, () => undefined)
  return pool
}

function waits(log: EventLog, pool: Pool): Pick<Session, 'projected' | 'caughtUp'> {
  return {
    projected: async (name, position) => {
      if (position === undefined) return
      // Not a failure: whoever took it for one would do the same a second time.
      if (!(await waitForPosition(pool, name, position, PROJECTED_TIMEOUT_MS)))
        note(`it is written, but the ${name} read model is behind the log and shows it later`)
    },
    caughtUp: async (name) => {
      const end = await log.endPosition()
      return end === undefined || waitForPosition(pool, name, end, CAUGHT_UP_TIMEOUT_MS)
    },
  }
}
