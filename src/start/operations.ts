import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { hasLeader } from '../../projections/engine/leadership.ts'
import { totals } from '../../projections/ledger/query.ts'
import { earliestPolls } from '../../projections/tasks/query.ts'
import { useDatabaseMetrics } from '../api/operating/database-metrics.ts'
import type { Health } from '../api/operating/health.ts'
import { showVersion } from '../api/operating/readiness-metrics.ts'
import { buildOperationsApp } from '../api/operations-app.ts'
import { readLastAudit } from '../app/audit/last-audit.ts'
import { countOpenMonths } from '../app/finance/statements/open-months.ts'
import type { Worker } from '../app/queue/worker.ts'
import { readSilentSpools } from '../app/spending/lost-spools.ts'
import type { Config } from '../config.ts'
import type { Clock } from '../kernel/clock.ts'
import { memoizeFor } from '../platform/memoize.ts'
import type { StartedProjector } from './projector.ts'
import type { ProcessContext } from './services.ts'

/** Months end and are closed rarely, and each account is looked at. */
const OPEN_MONTHS_MS = 300_000

/** The operations port, which a process of any role has, and the metrics that every role shows. */

interface OperationsOptions {
  readonly config: Pick<Config, 'host' | 'operationsHosts' | 'operationsPort'>
  readonly logger: Logger
  readonly version: string
}

/**
 * Builds what the operations port answers with; undefined where OPERATIONS_PORT is not set. The port is
 * closed when the process stops, as the last of its ports: operators look at it until then.
 */
export async function buildOperations(
  { config, logger, version }: OperationsOptions,
  health: Health,
  { pool, clock }: { readonly pool: Pool; readonly clock: Clock },
  { metrics, onStop }: Pick<ProcessContext, 'metrics' | 'onStop'>,
): Promise<{ readonly listen: () => Promise<string> } | undefined> {
  useDatabaseMetrics(metrics, figuresOf(pool, clock))
  showVersion(metrics, version)
  const { operationsHosts, operationsPort: port, host } = config
  if (port === undefined) return undefined
  const app = await buildOperationsApp({ logger, clock, metrics, health, operationsHosts })
  onStop(() => app.close())
  return { listen: () => listenForOperations(app, { port, host }) }
}

/** Conditions of readiness, apart from the stores, of a process without callers. */
export function healthByRole(
  projector: Pick<StartedProjector, 'role' | 'fault'> | undefined,
  worker: Pick<Worker, 'isPresent'> | undefined,
): Pick<Health, 'hindrances' | 'projector'> {
  const hindrances = (): readonly string[] => {
    const fault = projector?.fault()
    return [
      ...(fault === undefined ? [] : [`the projector starts again: ${fault}`]),
      ...(worker?.isPresent() === false
        ? ['the worker runs no rounds, because Postgres has not taken its heartbeat for 5 s']
        : []),
    ]
  }
  return { hindrances, ...(projector && { projector: projector.role }) }
}

/** The figures of the database that metrics show. */
function figuresOf(pool: Pool, clock: Clock): Parameters<typeof useDatabaseMetrics>[1] {
  return {
    totals: () => totals(pool),
    lastAudit: () => readLastAudit(pool),
    openMonths: memoizeFor(OPEN_MONTHS_MS, () => countOpenMonths(pool, clock.nowMs())),
    silentSpools: () => readSilentSpools(pool),
    earliestPolls: () => earliestPolls(pool),
    hasLeader: () => hasLeader(pool),
    clock,
  }
}

/** Listens on the operations port. @throws an error that names its variable where the port is taken */
export async function listenForOperations(
  app: FastifyInstance,
  at: { readonly port: number; readonly host: string },
): Promise<string> {
  try {
    return await app.listen(at)
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { variable: 'OPERATIONS_PORT' }) : error
  }
}
