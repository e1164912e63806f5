import { constants, setPriority } from 'node:os'
import type { Pool } from 'pg'
import { readFirstPlace } from '../../projections/engine/checkpoint.ts'
import { tryLead } from '../../projections/engine/leadership.ts'
import { allProjections } from '../../projections/registry.ts'
import { onStopRequest } from '../../infra/embedded/child.ts'
import type { AuditReport } from '../app/audit/audit.ts'
import { keepLastAudit } from '../app/audit/last-audit.ts'
import { NIGHTLY_AUDIT, type NightlyOutcome, nightlyReport } from '../app/audit/nightly.ts'
import type { AuditState } from '../app/audit/state.ts'
import { readStateFile, stateKeeper, StateFileError } from '../app/audit/state-file.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { monotonicClock, systemClock } from '../kernel/clock.ts'
import { isDomainError } from '../kernel/errors.ts'
import { createBusyShare } from '../platform/busy-share.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { auditAll } from '../start/audit.ts'
import { storesOfParent } from '../start/child-stores.ts'
import { openPool } from '../storage/postgres/pool.ts'
import { createRest, restBetween } from '../storage/postgres/resting-pool.ts'
import { childLogger as logger } from './child-logger.ts'
import { messageOf } from './explain.ts'

/** The nightly audit as a child process of the gateway; where its stores are comes in its environment. */

/** The connection that leads, and the one that the audit works on. */
const CONNECTIONS = 2
/** Statements of an audit read large parts of a table. */
const STATEMENT_TIMEOUT_MS = 300_000
/** Postgres cancels a statement first. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 10_000
/** Postgres ends the lead of a process that is frozen for this long. */
const SILENT_MS = 60_000

async function run(path: string): Promise<NightlyOutcome> {
  // Callers and read models come before audits.
  setPriority(constants.priority.PRIORITY_LOW)
  const { eventStoreUrl: url, databaseUrl, namespace } = storesOfParent()
  const pool = openPool({
    databaseUrl,
    max: CONNECTIONS,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onLost: (error) => logger.warn({ err: error.message }, 'idle database connection lost'),
  })
  // A lead that is lost meanwhile ends nothing: two audits at once are double work, and no more.
  const lead = await tryLead(pool, NIGHTLY_AUDIT, { silentMs: SILENT_MS })
  if (lead === undefined) return 'led'
  restBetween(pool, createRest({ busyShare: createBusyShare(), clock: monotonicClock }))
  const log = createEventLog({ url, namespace, log: logger })
  const projected = await readFirstPlace(pool, allProjections)
  if (projected !== undefined) log.passed(projected)
  releaseStartMemory()
  const report = await auditFrom({ pool, log, path })
  // Closes ask for the record: an audit without one is made again, from its state.
  await keepLastAudit(pool, report)
  return { report: nightlyReport(report) }
}

/** Continues from the state in the file, if it is one of this log. */
async function auditFrom({
  pool,
  log,
  path,
}: {
  readonly pool: Pool
  readonly log: EventLog
  readonly path: string
}): Promise<AuditReport> {
  const options = { pool, log, onState: keeperOf(path) }
  try {
    return await auditAll({ ...options, resume: await readStateFile(path) })
  } catch (error) {
    const isUnusable =
      error instanceof StateFileError || isDomainError(error, 'audit_state_foreign')
    if (!isUnusable) throw error
    logger.warn(
      { reason: error.message },
      'the state of earlier audits is of no use: audits from the start',
    )
    return auditAll(options)
  }
}

/** An audit goes on where its state cannot be kept: the next one does more. */
function keeperOf(path: string): (state: AuditState) => Promise<void> {
  const keep = stateKeeper(path, systemClock)
  let isReported = false
  return async (state) => {
    try {
      await keep(state)
    } catch (error) {
      if (!isReported)
        logger.warn({ path, reason: messageOf(error) }, 'the state of the audit cannot be kept')
      isReported = true
    }
  }
}

/** Sends the parent how it ended, and ends. */
function end(exitCode: number, message: NightlyOutcome | { readonly failure: string }): void {
  const ended = (): never => process.exit(exitCode)
  if (process.send === undefined) ended()
  process.send?.(message, ended)
}

onStopRequest(() => process.exit(0))
run(process.argv[2] ?? '').then(
  (outcome) => end(0, outcome),
  (error: unknown) => end(1, { failure: messageOf(error) }),
)
