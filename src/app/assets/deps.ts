import type { Pool } from 'pg'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { RecentWrites } from '../access/recent-writes.ts'
import type { AssetProvider } from '../ports/assets.ts'
import type { ChannelDirectory } from '../channels/directory.ts'
import type { ChannelPaces } from '../channels/paces.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { TaskMetrics } from '../metrics.ts'
import type { ReadModels } from '../read-models/read-models.ts'
import type { Throttle } from '../spending/throttle/throttle.ts'
import type { LibraryConcurrency } from './library-concurrency.ts'

/** Times of the asset library. */
export interface AssetLimits {
  /** An object that upstream does not list this long after the request was never accepted. */
  readonly lostAfterMs: number
  /** An asset that upstream processes for longer has failed. */
  readonly longestProcessingMs: number
  /** Time for which a started verification may be confirmed. */
  readonly verificationMs: number
}

const MINUTE_MS = 60_000

export const defaultAssetLimits: AssetLimits = {
  // The gateway waits a minute at most for a creation; a list may be behind.
  lostAfterMs: 10 * MINUTE_MS,
  longestProcessingMs: 24 * 60 * MINUTE_MS,
  // Upstream's credential is valid for thirty; a result at its very end may be queried a little
  // later.
  verificationMs: 40 * MINUTE_MS,
}

/** The dependencies of the asset library. */
export interface AssetDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly catalog: Catalog
  readonly provider: AssetProvider
  readonly channels: ChannelDirectory
  readonly paces: ChannelPaces
  readonly throttle: Throttle
  readonly readModels: ReadModels
  /** For the asset library only. */
  readonly recent: RecentWrites
  readonly libraryConcurrency: LibraryConcurrency
  readonly metrics: Pick<TaskMetrics, 'upstreamCalls' | 'upstreamSeconds' | 'policyFailures'>
  readonly clock: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
  readonly markerSecret: string
  readonly assetLimits: AssetLimits
}
