import type { LRUCache } from 'lru-cache'
import { createLru } from '../../kernel/lru.ts'
import type { DeclaredLabels } from '../access/declared-labels.ts'
import type { TenantAccess } from '../access/tenant-access.ts'
import type { Budgets } from '../spending/budgets/budgets.ts'
import type { Pool } from 'pg'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { TaskState } from '../../domain/task/state.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { OpenPublic } from '../../kernel/public-fetch.ts'
import type { CheckAssets, UseAssets } from '../assets/types.ts'
import type { Admissions } from '../spending/admission.ts'
import type { Freshness } from '../spending/ledger-lag.ts'
import type { ForeseeingLook } from '../queue/lane-look.ts'
import type { ChannelDirectory } from '../channels/directory.ts'
import type { ChannelPaces } from '../channels/paces.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { Throttle } from '../spending/throttle/throttle.ts'
import type { TaskMetrics } from '../metrics.ts'
import type { TaskProvider } from '../ports/provider.ts'
import type { TenantPrices } from '../finance/prices/tenant-prices.ts'
import type { ReadModels } from '../read-models/read-models.ts'
import type { BackgroundAppends } from './background-appends.ts'
import type { PutTaskUrls } from './result-urls.ts'
import type { RecentWrites } from '../access/recent-writes.ts'

/** The dependencies of the task use cases and the policies. */
export interface TaskDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly catalog: Catalog
  readonly providers: ReadonlyMap<string, TaskProvider>
  readonly channels: ChannelDirectory
  readonly paces: ChannelPaces
  readonly prices: TenantPrices
  readonly labels: DeclaredLabels
  readonly tenantAccess: Pick<TenantAccess, 'checkCreation'>
  readonly readModels: ReadModels
  readonly freshness: Freshness
  readonly admissions: Admissions
  readonly budgets: Pick<Budgets, 'reserve'>
  readonly throttle: Throttle
  readonly background: BackgroundAppends
  readonly recent: RecentWrites
  readonly known: KnownTasks
  readonly dueTasks: ForeseeingLook
  readonly putTaskUrls: PutTaskUrls
  readonly openPublic: OpenPublic
  readonly useAssets: UseAssets
  readonly checkAssets: CheckAssets
  readonly metrics: TaskMetrics
  readonly clock: Clock
  /** Measures durations. */
  readonly monotonic: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
  /** Key of markers and idempotency ids: the same on every replica, kept secret. */
  readonly markerSecret: string
}

/** A task as far as this process has read its stream. */
export interface KnownTask {
  readonly state: TaskState
  /** Revision of the stream's last event. */
  readonly revision: bigint
}

/** The oldest are evicted first: they are read from the log again. */
const MAX_TASKS = 5_000

/**
 * Open tasks as this process last wrote them, so that it decides about the next upstream answer
 * without reading the stream. If another process has written meanwhile, the append at this revision
 * fails.
 */
export type KnownTasks = LRUCache<string, KnownTask>

export function createKnownTasks(): KnownTasks {
  return createLru(MAX_TASKS)
}
