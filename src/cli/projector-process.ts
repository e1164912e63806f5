import { constants, setPriority } from 'node:os'
import pino from 'pino'
import {
  announceFailure,
  announceReady,
  logLine,
  onStopRequest,
} from '../../infra/embedded/child.ts'
import { readVariable } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import type { Log } from '../kernel/log.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { startProjector } from '../start/projector.ts'
import { messageOf } from './explain.ts'
import { projectorVariables } from './projector.ts'

/** The projector as a child process of `serve`, which has created the tables; where its stores are comes in its environment. */

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
  // Alive from here on: it waits for stores that are away, and needs no restart.
  announceReady('')
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
