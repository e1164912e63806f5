import { constants, setPriority } from 'node:os'
import pino from 'pino'
import { announceFailure, announceReady, onStopRequest } from '../../infra/embedded/child.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { openPool } from '../app/ops/pool.ts'
import { readVariable } from '../config.ts'
import { createEventLog } from '../eventlog/client.ts'
import { startProjector } from '../projector.ts'
import { messageOf } from './explain.ts'
import { projectorVariables } from './projector.ts'

/** The projector as a child process of `serve`; where its stores are comes in its environment. */

const MIGRATION_TIMEOUT_MS = 60_000

function variable(name: keyof typeof projectorVariables): string {
  const value = readVariable(projectorVariables[name])
  if (value === undefined) throw new Error(`${projectorVariables[name]} is not set`)
  return value
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
  const stopped = new Promise<void>((resolve) => onStopRequest(() => resolve()))
  // Where the machine is short, whoever calls comes before what is shown later.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const logger = pino({ base: null }, pino.destination(2))
  const databaseUrl = variable('databaseUrl')
  await migrate(databaseUrl)
  const log = createEventLog({
    url: variable('eventStoreUrl'),
    namespace: variable('namespace'),
    log: logger,
  })
  const stop = startProjector({ databaseUrl, log, logger })
  announceReady('')
  await stopped
  await stop()
  await log.close()
}

run().then(
  () => process.exit(0),
  (error: unknown) => {
    announceFailure(messageOf(error))
    process.exit(1)
  },
)
