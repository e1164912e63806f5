import { constants, setPriority } from 'node:os'
import pino from 'pino'
import {
  announceFailure,
  announceReady,
  logLine,
  onStopRequest,
} from '../../infra/embedded/child.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { openPool } from '../storage/postgres/pool.ts'
import { readVariable } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import type { Log } from '../kernel/log.ts'
import { createBackoff, pause } from '../kernel/pause.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { startProjector } from '../start/projector.ts'
import { messageOf } from './explain.ts'
import { unavailableStoreOf } from './store-outage.ts'
import { projectorVariables } from './projector.ts'

/** The projector as a child process of `serve`; where its stores are comes in its environment. */

const MIGRATION_TIMEOUT_MS = 60_000
const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 5_000
/** A store that is gone must not keep the process: a batch and its checkpoint are one transaction. */
const STOP_TIMEOUT_MS = 3_000

function variable(name: keyof typeof projectorVariables): string {
  const value = readVariable(projectorVariables[name])
  if (value === undefined) throw new Error(`${projectorVariables[name]} is not set`)
  return value
}

/**
 * Writes through the stream of the process: pino's own destination blocks for ever on a parent that
 * no longer reads.
 */
const logger: Log = {
  debug: () => undefined,
  info: (fields, message) => logLine('info', message, shown(fields)),
  warn: (fields, message) => logLine('warn', message, shown(fields)),
  error: (fields, message) => logLine('error', message, shown(fields)),
}

function shown(fields: object): Readonly<Record<string, unknown>> {
  const { err, ...rest } = fields as { readonly err?: unknown }
  return err instanceof Error ? { ...rest, err: pino.stdSerializers.err(err) } : { ...fields }
}

/** Waits, with backoff, while Postgres is away. */
async function migrateOnceItAnswers(databaseUrl: string): Promise<void> {
  const backoff = createBackoff(RETRY_MIN_MS, RETRY_MAX_MS)
  for (;;)
    try {
      return await migrate(databaseUrl)
    } catch (error) {
      if (unavailableStoreOf(error) === undefined) throw error
      const retryInMs = Math.round(backoff.nextMs())
      logger.warn({ reason: messageOf(error), retryInMs }, 'waiting for Postgres, which is away')
      await pause(retryInMs)
    }
}

async function migrate(databaseUrl: string): Promise<void> {
  const pool = openPool({
    databaseUrl,
    max: 1,
    queryTimeoutMs: MIGRATION_TIMEOUT_MS,
    onLost: () => undefined,
  })
  try {
    await migrateEngine(pool, allProjections)
  } finally {
    await pool.end()
  }
}

async function run(): Promise<void> {
  const stopped = new Promise<void>((resolve) =>
    onStopRequest(() => {
      setTimeout(() => process.exit(0), STOP_TIMEOUT_MS)
      resolve()
    }),
  )
  // On a busy machine callers come before the read models.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const databaseUrl = variable('databaseUrl')
  // Alive from here on: stores that are away are waited for, not a reason to be restarted.
  announceReady('')
  await migrateOnceItAnswers(databaseUrl)
  const log = createEventLog({
    url: variable('eventStoreUrl'),
    namespace: variable('namespace'),
    log: logger,
  })
  releaseStartMemory()
  const projector = startProjector({ databaseUrl, log, logger })
  await stopped
  await projector.stop()
  await log.close()
}

run().then(
  () => process.exit(0),
  (error: unknown) => {
    announceFailure(messageOf(error))
    process.exit(1)
  },
)
