import { Pool } from 'pg'
import pino, { type Logger } from 'pino'
import { allProjections } from '../../projections/registry.ts'
import { startProjections } from '../../projections/engine/engine.ts'
import { readFirstPlace } from '../../projections/engine/checkpoint.ts'
import { waitForPosition } from '../../projections/engine/wait.ts'
import { PROGRAM_ACTOR } from '../app/accounts/account-commands.ts'
import { requireBelonging } from '../app/access/installation.ts'
import { migrateDatabase, requireMigrated } from '../start/migration.ts'
import { surviveLostConnections } from '../storage/postgres/pool.ts'
import { loadConfig, type Config } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { systemClock } from '../kernel/clock.ts'
import { note } from './output.ts'
import { openStores, type OpenedStores } from './stores.ts'
import { owned } from '../platform/owned.ts'

/** What a command beside `serve` works with: the log, Postgres and the configuration. */
export interface Session {
  readonly config: Config
  readonly log: EventLog
  readonly pool: Pool
  /** Where Postgres is, for a process that the command starts. */
  readonly databaseUrl: string
  /** Warnings and failures, on stderr. */
  readonly logger: Logger
  /** Waits until a read model shows what was written at a position; says so when it does not in time. */
  readonly projected: (name: string, position: bigint | undefined) => Promise<void>
  /** Waits until a read model has reached the end of the log; false when it does not in time. */
  readonly caughtUp: (name: string) => Promise<boolean>
}

const POOL_SIZE = 4
const PROJECTED_TIMEOUT_MS = 10_000
const CAUGHT_UP_TIMEOUT_MS = 30_000

export interface SessionOptions {
  /** The command repairs or only looks, so it also runs where the log and the database do not belong together. */
  readonly onAnyStores?: boolean
  /** The command creates the tables that an external database lacks; else it needs them. */
  readonly migrates?: boolean
}

/** Registers how to close what was opened, the last first. */
type OnClose = (close: () => Promise<unknown>) => void

/** Runs a command, and closes what it opened whether or not it failed. */
async function closing<T>(run: (logger: Logger, onClose: OnClose) => Promise<T>): Promise<T> {
  const logger = pino({ level: 'warn', base: null }, owned(pino.destination(2)))
  const closers: (() => Promise<unknown>)[] = []
  try {
    return await run(logger, (close) => closers.unshift(close))
  } finally {
    // The command's own failure is the one to report.
    for (const close of closers)
      await close().catch((error: unknown) => logger.warn({ err: error }, 'closing failed'))
  }
}

function openLog(config: Config, url: string, logger: Logger, onClose: OnClose): EventLog {
  const log = createEventLog({ url, namespace: config.namespace, log: logger })
  onClose(() => log.close())
  return log
}

/** Opens Postgres alone, whose tables the command creates or changes. */
export function withPostgres<T>(run: (pool: Pool) => Promise<T>): Promise<T> {
  return closing(async (logger, onClose) => {
    const stores = await openStores(loadConfig(), logger)
    onClose(() => stores.close())
    const pool = createPool(stores, POOL_SIZE)
    onClose(() => pool.end())
    return run(pool)
  })
}

/** Opens the log alone, for a command that needs nothing of Postgres. */
export function withLog<T>(run: (session: Pick<Session, 'log'>) => Promise<T>): Promise<T> {
  return closing(async (logger, onClose) => {
    const config = loadConfig()
    let url = config.external?.eventStoreUrl
    if (url === undefined) {
      const stores = await openStores(config, logger)
      onClose(() => stores.close())
      url = stores.eventStoreUrl
    }
    return run({ log: openLog(config, url, logger, onClose) })
  })
}

/**
 * Opens the stores, runs the command, closes them. Without a running gateway the projections run
 * too, so that the command reads what the log holds.
 * @throws LogOlderError, NotBelongingError, NotMigratedError
 */
export function withSession<T>(
  run: (session: Session) => Promise<T>,
  { onAnyStores = false, migrates = false }: SessionOptions = {},
): Promise<T> {
  return closing(async (logger, onClose) => {
    const config = loadConfig()
    const stores = await openStores(config, logger)
    onClose(() => stores.close())
    const pool = createPool(stores, POOL_SIZE)
    onClose(() => pool.end())
    const log = openLog(config, stores.eventStoreUrl, logger, onClose)
    const adopts = config.external === undefined
    if (migrates || adopts) await migrateDatabase(pool)
    else await requireMigrated(pool)
    if (!onAnyStores) {
      const both = { pool, log, projections: allProjections, clock: systemClock }
      await requireBelonging(both, { adopts, actor: PROGRAM_ACTOR })
    }
    const projected = await readFirstPlace(pool, allProjections)
    if (projected !== undefined) log.passed(projected)
    if (!stores.served) {
      const own = createPool(stores, allProjections.length + 2)
      onClose(() => own.end())
      const engine = startProjections({
        pool: own,
        log,
        projections: allProjections,
        clock: systemClock,
        logger,
      })
      onClose(() => engine.stop())
    }
    const { databaseUrl } = stores
    return run({ config, log, pool, databaseUrl, logger, ...readModelWaits(log, pool) })
  })
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

function readModelWaits(log: EventLog, pool: Pool): Pick<Session, 'projected' | 'caughtUp'> {
  return {
    projected: async (name, position) => {
      if (position === undefined) return
      // Not a failure: an operator who took it for one would repeat the command.
      if (!(await waitForPosition(pool, name, position, PROJECTED_TIMEOUT_MS)))
        note(`it is written, but the ${name} read model is behind the log and shows it later`)
    },
    caughtUp: async (name) => {
      const end = await log.endPosition()
      return end === undefined || waitForPosition(pool, name, end, CAUGHT_UP_TIMEOUT_MS)
    },
  }
}
