import type { Surface } from '../api/kit/routes/surface.ts'
import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { allProjections } from '../../projections/registry.ts'
import { type AssetDeps, defaultAssetLimits } from '../app/assets/deps.ts'
import { createLibraryConcurrency } from '../app/assets/library-concurrency.ts'
import { createUseAssets } from '../app/assets/use.ts'
import { createTenantAccess, type TenantAccess } from '../app/access/tenant-access.ts'
import { createRecentWrites } from '../app/access/recent-writes.ts'
import { createCallClaims } from '../app/calls/claims/claims.ts'
import { type CallDeps, callBounds } from '../app/calls/deps.ts'
import { createCallMetrics } from '../app/calls/metrics.ts'
import { createImageFamily, type ImageCallFamily } from '../app/calls/images/family.ts'
import type { ImageDeps } from '../app/calls/images/types.ts'
import type { Catalog } from '../domain/catalog/catalog.ts'
import { createImagePlace, createOpenImageFile } from '../app/calls/images/keep.ts'
import type { MediaDeps } from '../app/calls/uploads/types.ts'
import type { FileDeps } from '../app/files/deps.ts'
import type { BreakerSettings } from '../app/channels/breaker.ts'
import { createChannelDirectory } from '../app/channels/directory.ts'
import { createChannelPaces } from '../app/channels/paces.ts'
import type { CrashPoint } from '../app/crash-points.ts'
import { createTaskMetrics } from '../app/metrics.ts'
import { beginCallSeries, beginTaskSeries } from './series.ts'
import type { Channel } from '../app/ports/provider.ts'
import { type AccountFacts, createAccountFacts } from '../app/accounts/account-facts.ts'
import { createDeclaredLabels } from '../app/access/declared-labels.ts'
import { withoutDemonstrationPrices } from '../app/finance/prices/publish-at-start.ts'
import { createPriceBookSource } from '../app/finance/prices/price-book.ts'
import { createTenantPrices, type TenantPrices } from '../app/finance/prices/tenant-prices.ts'
import { type Budgets, createBudgets } from '../app/spending/budgets/budgets.ts'
import { createAdmissions } from '../app/spending/admission.ts'
import { createReplicaGauges, type ReplicaGauges } from '../app/spending/replica-gauges.ts'
import { createReadModels } from '../app/read-models/read-models.ts'
import { createFunds } from '../app/spending/funds.ts'
import { LedgerFloor } from '../app/spending/ledger-floor.ts'
import { createFreshness, type LedgerLag, watchLedger } from '../app/spending/ledger-lag.ts'
import { createBackgroundAppends } from '../app/tasks/background-appends.ts'
import { createKnownTasks, type TaskDeps } from '../app/tasks/deps.ts'
import { createUrlCache } from '../app/tasks/result-urls.ts'
import { createTaskLook, type TaskLookSettings } from '../app/tasks/watch/task-work.ts'
import {
  defaultImageTaskLimits,
  imageMediaIn,
  type ImageTaskDeps,
} from '../app/tasks/images/deps.ts'
import {
  createUploadQuota,
  defaultUploadLimits,
  type UploadLimits,
} from '../app/files/uploads/quota.ts'
import { createThrottle } from '../app/spending/throttle/throttle.ts'
import type { Config } from '../config.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { resolveByDns } from '../platform/resolve-host.ts'
import { type Clock, monotonicClock, wallClock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import {
  createOpenPublic,
  createPublicFetch,
  type PublicFetchDeps,
} from '../families/kit/http/public-fetch.ts'
import {
  catalogOf,
  type FamilyModule,
  type OpenedFamilies,
  openFamilies,
} from '../families/module.ts'
import type { ObjectStore } from '../storage/types.ts'

/** Bounds of the configuration; the default of each is the product's. */
type Bounds = Pick<
  Config,
  | 'ownRequestsPerMinute'
  | 'absorbedCostPerHour'
  | 'freeRequestsPerMinute'
  | 'refusedFormsPerMinute'
  | 'keptAnswerBytes'
>

/** What a gateway is built from. */
export interface Infrastructure
  extends Pick<Config, 'pollRequestsPerSecond'>, Partial<Bounds & TaskLookSettings> {
  readonly pool: Pool
  readonly log: EventLog
  readonly families: readonly FamilyModule[]
  readonly channels: readonly Channel[]
  /** Whether the channels are the sandbox's: demonstration prices apply only then. */
  readonly sandbox: boolean
  readonly markerSecret: string
  readonly clock: Clock
  /** The clock for durations; its default is the machine's. */
  readonly monotonic?: Clock
  readonly logger: Log
  readonly metrics: Registry
  readonly crashPoint: CrashPoint
  /** The store of media; undefined: the gateway keeps none. */
  readonly store?: ObjectStore | undefined
  /** The limits of uploads; the default is the product's. */
  readonly uploadLimits?: UploadLimits
  /** Refuses what is not billed while local disk space is short; undefined: it needs no local disk. */
  readonly checkDisk?: (() => Promise<void>) | undefined
  /** When a channel's breaker opens; the default is the product's. */
  readonly breaker?: BreakerSettings
  /** How hosts that callers and providers name are found: by DNS, unless a test names its own. */
  readonly hosts?: PublicFetchDeps
  /** How far behind the log sales are decided; the default is what Postgres and the log say. */
  readonly lag?: LedgerLag
}

/**
 * What the use cases and the background work of one gateway are built from. Nothing starts by itself:
 * the caller starts what it needs.
 */
export interface Dependencies {
  /** Routes of the families. */
  readonly surfaces: readonly Surface[]
  /** Finds the call behind a sealed id of an answer, for its tenant. */
  readonly callOfAnswer: OpenedFamilies['callOfAnswer']
  readonly files: FileDeps
  /** Refuses what keeps something and is not billed, while local disk space is short. */
  readonly checkDisk: Infrastructure['checkDisk']
  readonly tasks: TaskDeps
  /** Takes in the events of accounts. */
  readonly facts: Pick<AccountFacts, 'of' | 'noticed' | 'current' | 'unknown'>
  readonly budgets: Pick<Budgets, 'statuses'>
  /** Refuses what suspended and closed tenants may not do. */
  readonly tenantAccess: TenantAccess
  /** The dependencies of a named process's calls, except the journal, which has a place on disk. */
  readonly calls: (replica: string) => Omit<CallDeps, 'journal' | 'log'> & {
    readonly log: EventLog
    readonly prices: Pick<TenantPrices, 'renew'>
  }
  readonly imageTasks: ImageTaskDeps
  /** Files that accounts keep. */
  readonly media: Pick<MediaDeps, 'log' | 'media' | 'markerSecret' | 'quota'>
  readonly images: ImageCallFamily
  readonly assets: AssetDeps & ReturnType<typeof createUseAssets>
  /** Finishes what is under way in the background, then closes the providers. */
  readonly stop: () => Promise<void>
}

/** Puts a gateway together, without HTTP; the program and the tests both use it. */
export function compose(infra: Infrastructure): Dependencies {
  const { pool, log, clock, logger, crashPoint, markerSecret, store } = infra
  const { monotonic = monotonicClock, hosts = { resolveHost: resolveByDns } } = infra
  const opened = openFamilies(infra.families, { ...infra, upstreamClock: wallClock })
  const recent = createRecentWrites()
  const uses = createUseAssets({ log, clock, recent })
  const facts = createAccountFacts({ log, db: pool }, monotonic)
  const accounts = accountsOf(infra, facts)
  const tasks: TaskDeps = {
    ...tasksOf(infra, facts, accounts.gauges),
    ...accounts,
    providers: opened.tasks,
    openPublic: createOpenPublic(hosts),
    useAssets: uses.useAssets,
    checkAssets: uses.checkAssets,
  }
  const { readModels, throttle } = tasks
  const { uploadLimits: limits = defaultUploadLimits, checkDisk } = infra
  const quota = createUploadQuota({ pool, readModels, limits, checkDisk })
  const files = { pool, log, store, readModels, quota, throttle, clock, logger, crashPoint }
  const images = imagesOf({ ...infra, monotonic, hosts }, tasks.catalog, opened.images, files)
  return {
    surfaces: opened.surfaces,
    callOfAnswer: opened.callOfAnswer,
    files,
    checkDisk,
    tasks,
    facts,
    budgets: accounts.budgets,
    tenantAccess: accounts.tenantAccess,
    imageTasks: {
      ...tasks,
      imageProviders: images.providers,
      openImageFile: images.openImageFile,
      fetchPublic: images.fetchPublic,
      media: store && imageMediaIn(store, markerSecret),
      imageLimits: defaultImageTaskLimits,
      quota,
    },
    images: createImageFamily(images),
    media: { log, media: opened.media, markerSecret, quota },
    assets: {
      ...tasks,
      ...uses,
      provider: opened.library,
      recent,
      libraryConcurrency: createLibraryConcurrency(),
      assetLimits: defaultAssetLimits,
    },
    calls: (replica) => callsOf(infra, { ...tasks, ...accounts }, replica),
    stop: async () => {
      await tasks.background.stop()
      await opened.close()
    },
  }
}

/** The dependencies of image calls, which image tasks share. */
function imagesOf(
  {
    store,
    clock,
    monotonic,
    hosts,
  }: Infrastructure & Required<Pick<Infrastructure, 'monotonic' | 'hosts'>>,
  catalog: Catalog,
  providers: ImageDeps['providers'],
  files: FileDeps,
): ImageDeps {
  return {
    catalog,
    clock,
    providers,
    imagePlace: store && createImagePlace(store, clock, monotonic),
    fetchPublic: createPublicFetch(hosts),
    openImageFile: createOpenImageFile(files),
  }
}

/** Prices and budgets of tenants, and what this process shares of their spending with the others. */
function accountsOf(infra: Infrastructure, facts: AccountFacts) {
  const { pool, clock, logger, metrics, monotonic = monotonicClock } = infra
  const books = createPriceBookSource(pool, clock, monotonic)
  // Demonstration prices apply on the sandbox only, whichever book holds them.
  const list = infra.sandbox ? books : withoutDemonstrationPrices(books)
  const replica = newId('process', clock.nowMs())
  const ledger = new LedgerFloor(monotonic)
  const gauges = createReplicaGauges({ db: pool, replica, clock: monotonic, ledger })
  const { lag = watchLedger(pool, infra.log, ledger) } = infra
  return {
    gauges,
    admissions: createAdmissions(pool, ledger),
    freshness: createFreshness(lag, monotonicClock),
    prices: createTenantPrices(list, facts),
    labels: createDeclaredLabels(facts, metrics),
    tenantAccess: createTenantAccess(facts, clock),
    budgets: createBudgets({
      facts,
      gauges,
      db: pool,
      clock,
      logger,
      registry: metrics,
    }),
  }
}

/** Dependencies of tasks, which calls share. */
function tasksOf(infra: Infrastructure, facts: AccountFacts, gauges: ReplicaGauges) {
  const { pool, log, clock, logger, metrics, crashPoint, markerSecret } = infra
  const { monotonic = monotonicClock } = infra
  const catalog = catalogOf(infra.families)
  const channels = createChannelDirectory(infra.channels, { ...infra, catalog, clock: monotonic })
  const background = createBackgroundAppends({ clock: monotonic, logger })
  return {
    pool,
    log,
    catalog,
    channels,
    paces: createChannelPaces(infra.pollRequestsPerSecond, monotonic),
    readModels: createReadModels({
      db: pool,
      projections: allProjections,
      logEnd: () => log.endPosition(),
      clock,
    }),
    throttle: createThrottle({ ...infra, facts, gauges, monotonic, registry: metrics }),
    background,
    recent: createRecentWrites(),
    known: createKnownTasks(),
    dueTasks: createTaskLook(pool, monotonic, infra),
    putTaskUrls: createUrlCache(pool),
    metrics: beginTaskSeries(createTaskMetrics(metrics), metrics, { channels, background }),
    clock,
    monotonic,
    logger,
    crashPoint,
    markerSecret,
  }
}

/** The dependencies of calls that tasks do not have. */
function callsOf(
  { markerSecret: secret, keptAnswerBytes: maxKeptBytes, metrics }: Infrastructure,
  tasks: TaskDeps & ReturnType<typeof accountsOf>,
  replica: string,
): ReturnType<Dependencies['calls']> {
  return {
    ...tasks,
    funds: createFunds(tasks),
    claims: createCallClaims({ ...tasks, secret, owner: replica, maxKeptBytes }),
    metrics: beginCallSeries(createCallMetrics(metrics), tasks),
    ...callBounds(),
  }
}
