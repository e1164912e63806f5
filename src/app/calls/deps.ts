import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Journal } from '../../eventlog/journal/journal.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { DeclaredLabels } from '../access/declared-labels.ts'
import type { TenantAccess } from '../access/tenant-access.ts'
import type { Budgets } from '../spending/budgets/budgets.ts'
import type { CallClaims } from './claims/types.ts'
import type { ChannelDirectory } from '../channels/directory.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { TenantPrices } from '../finance/prices/tenant-prices.ts'
import type { Funds } from '../spending/funds.ts'
import type { ReplicaGauges } from '../spending/replica-gauges.ts'
import type { Throttle } from '../spending/throttle/throttle.ts'
import { createDrains, type Drains } from './drains.ts'
import type { CallMetrics } from './metrics.ts'

/** The dependencies of every synchronous call, of any family. */
export interface CallDeps {
  /** Used only for its health; the journal writes. */
  readonly log: Pick<EventLog, 'healthy' | 'ready'>
  readonly catalog: Catalog
  readonly journal: Pick<Journal, 'record' | 'pending' | 'requireWritable'>
  readonly channels: ChannelDirectory
  readonly prices: Pick<TenantPrices, 'of'>
  readonly labels: DeclaredLabels
  readonly tenantAccess: Pick<TenantAccess, 'checkCreation'>
  readonly funds: Funds
  readonly budgets: Pick<Budgets, 'reserve'>
  readonly gauges: Pick<ReplicaGauges, 'exchange' | 'spoolEmptied'>
  readonly throttle: Throttle
  /** For calls under an `Idempotency-Key`. */
  readonly claims: CallClaims
  readonly drains: Drains
  readonly metrics: CallMetrics
  readonly clock: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
  readonly limits: CallLimits
}

/** Bounds of synchronous calls and their streams (P10); channels have their own. */
export interface CallLimits {
  /** Calls in flight in this process, drained ones included; more are refused as `overloaded`. */
  readonly maxCalls: number
  /** Channels tried for one call. */
  readonly maxAttempts: number
  /** UTF-16 units of frames withheld until a stream is settled; more than the largest frame. */
  readonly maxWithheldBytes: number
  /** A caller that takes no frame for this long counts as disconnected. */
  readonly consumerStallMs: number
  /**
   * Bounds of time and bytes for reading a stream after its caller disconnected; a channel may have
   * other ones.
   */
  readonly drainTimeoutMs: number
  readonly drainMaxBytes: number
  /**
   * Maximum number of failed calls that wait to be recorded, enough for all running ones; further
   * ones are only counted.
   */
  readonly maxPendingFailures: number
}

export const defaultCallLimits: CallLimits = {
  maxCalls: 8_000,
  maxAttempts: 3,
  maxWithheldBytes: 32 << 20,
  consumerStallMs: 120_000,
  drainTimeoutMs: 60_000,
  drainMaxBytes: 4 << 20,
  maxPendingFailures: 8_000,
}

/** The bounds of all calls of a process. */
export function callBounds(): Pick<CallDeps, 'limits' | 'drains'> {
  return { limits: defaultCallLimits, drains: createDrains() }
}
