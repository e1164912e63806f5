import type { Catalog } from '../../domain/families/catalog.ts'
import type { Journal } from '../../eventlog/journal/journal.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { CallClaims } from '../call-claims/types.ts'
import type { ChannelDirectory } from '../channels/directory.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { TenantPrices } from '../pricing/tenant-prices.ts'
import type { Funds } from '../spending/funds.ts'
import type { Throttle } from '../throttle/throttle.ts'
import type { CallLimits } from './limits.ts'
import type { CallMetrics } from './metrics.ts'

/** What every synchronous call stands on, whatever its family. */
export interface CallDeps {
  /** Only asked whether it takes work; writing goes through the journal. */
  readonly log: Pick<EventLog, 'healthy' | 'ready'>
  readonly catalog: Catalog
  readonly journal: Pick<Journal, 'record' | 'pending'>
  readonly channels: ChannelDirectory
  readonly prices: Pick<TenantPrices, 'of'>
  readonly funds: Funds
  readonly budgets: Pick<Budgets, 'hold' | 'exchange'>
  readonly throttle: Throttle
  /** Of calls under an `Idempotency-Key`. */
  readonly claims: CallClaims
  readonly metrics: CallMetrics
  readonly clock: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
  readonly limits: CallLimits
}
