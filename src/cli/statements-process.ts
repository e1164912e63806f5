import { constants, setPriority } from 'node:os'
import { announceFailure, logLine, onStopRequest } from '../../infra/embedded/child.ts'
import { answerJob, type JobMessage } from '../app/finance/statements/process.ts'
import { buildTree } from '../app/finance/statements/tree.ts'
import { readVariable } from '../config.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { DATABASE_VARIABLE } from '../start/statements.ts'
import { openPool } from '../storage/postgres/pool.ts'
import { messageOf } from './explain.ts'

/** Builds the trees of statements as a child process of the gateway, and reads Postgres alone. */

/** Lines and credit are read one page after the other. */
const CONNECTIONS = 2
const QUERY_TIMEOUT_MS = 60_000

function run(): void {
  const databaseUrl = readVariable(DATABASE_VARIABLE)
  if (databaseUrl === undefined) throw new Error(`${DATABASE_VARIABLE} is not set`)
  // Callers and read models come before statements.
  setPriority(constants.priority.PRIORITY_LOW)
  const pool = openPool({
    databaseUrl,
    max: CONNECTIONS,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    statementTimeoutMs: QUERY_TIMEOUT_MS,
    onLost: (error) => logLine('warn', error.message),
  })
  releaseStartMemory()
  onStopRequest(() => process.exit(0))
  process.on('message', (message) => {
    void answerJob(message as JobMessage, (job) => buildTree(pool, job)).then((answer) =>
      process.send?.(answer),
    )
  })
}

try {
  run()
} catch (error) {
  announceFailure(messageOf(error))
  process.exit(1)
}
