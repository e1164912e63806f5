import { constants, setPriority } from 'node:os'
import { announceFailure, logLine, onStopRequest } from '../../infra/embedded/child.ts'
import { type JobContext, type JobKind, jobs } from '../app/finance/statements/jobs.ts'
import {
  failureOf,
  type Job,
  type JobAnswer,
  type JobMessage,
} from '../app/finance/statements/process.ts'
import { readVariable } from '../config.ts'
import { monotonicClock } from '../kernel/clock.ts'
import { pause } from '../kernel/pause.ts'
import { createBusyShare } from '../platform/busy-share.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { DATABASE_VARIABLE } from '../start/statements.ts'
import { openPool } from '../storage/postgres/pool.ts'
import { createRest } from '../storage/postgres/resting-pool.ts'
import { messageOf } from './explain.ts'

/** Does the jobs of statements as a child process of the gateway, and reads Postgres alone. */

/** Lines and credit are read one page after the other. */
const CONNECTIONS = 2
const QUERY_TIMEOUT_MS = 60_000

/** Rests of a job, which end it once it is withdrawn. */
function restsOf(busyShare: () => number, withdrawn: AbortSignal): () => Promise<void> {
  const rest = createRest({
    busyShare,
    clock: monotonicClock,
    pauseFor: (ms) => pause(ms, withdrawn),
  })
  return async () => {
    await rest()
    withdrawn.throwIfAborted()
  }
}

async function answer<Kind extends JobKind>(
  { id, kind, input }: Job<Kind>,
  context: JobContext,
): Promise<JobAnswer> {
  try {
    return { id, answer: await jobs[kind](input, context) }
  } catch (error) {
    return { id, failure: failureOf(error) }
  }
}

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
  const busyShare = createBusyShare()
  /** Ends the job that runs; the parent gives one at a time. */
  let running = { id: 0, withdrawn: new AbortController() }
  process.on('message', (received) => {
    const message = received as JobMessage
    if ('withdrawn' in message) {
      if (message.withdrawn === running.id) running.withdrawn.abort()
      return
    }
    running = { id: message.id, withdrawn: new AbortController() }
    const { signal: withdrawn } = running.withdrawn
    const rest = restsOf(busyShare, withdrawn)
    void answer(message, { db: pool, rest, withdrawn }).then((done) => process.send?.(done))
  })
}

try {
  run()
} catch (error) {
  announceFailure(messageOf(error))
  process.exit(1)
}
