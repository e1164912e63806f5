import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { readFirstPlace } from '../projections/engine/checkpoint.ts'
import { migrateEngine } from '../projections/engine/migrate.ts'
import { totals } from '../projections/ledger/query.ts'
import { allProjections } from '../projections/registry.ts'
import { buildApp } from './api/app.ts'
import { buildOperationsApp } from './api/operations-app.ts'
import { createHealth, type Said } from './api/operating/gateway-health.ts'
import { refusedConcern, type Health } from './api/operating/health.ts'
import { useLedgerMetrics } from './api/operating/ledger-metrics.ts'
import { drain } from './api/kit/drain.ts'
import { createPostOut } from './providers/kit/http/post-out.ts'
import { resolveByDns } from './providers/kit/http/resolve-host.ts'
import type { PublicFetchDeps } from './providers/kit/http/public-fetch.ts'
import { readLastAudit } from './app/last-audit/last-audit.ts'
import { seeLedger, watchLedger } from './app/spending/ledger-lag.ts'
import { startAccess } from './access.ts'
import { createReadKey } from './app/access/key-standing.ts'
import { startCalls } from './app/calls/start.ts'
import { crashPointFrom } from './app/crash-points.ts'
import { createMetricsRegistry, eventLogMetrics } from './app/metrics.ts'
import { openPool, openQueryPool } from './app/database/pool.ts'
import { shareFairly } from './app/database/pool-share.ts'
import { migrateOps } from './app/migrations.ts'
import { startPurge } from './app/objects/purge.ts'
import { agreeOnSecret } from './app/secret/agreement.ts'
import { assetPolicies } from './app/assets/watch/policies.ts'
import { imagePolicies } from './app/image-tasks/policies.ts'
import { balanceAlertPolicies } from './app/balance-alerts/policy.ts'
import { startPolicies, startPresence } from './app/tasks/watch/start.ts'
import type { Channel } from './app/ports.ts'
import { priceConcern, servedModels } from './app/pricing/concern.ts'
import { publishPrices } from './app/pricing/publish-prices.ts'
import { createMediaFiles } from './app/uploads/media-files.ts'
import { compose, type Parts, useCases } from './compose.ts'
import { management } from './management.ts'
import { dataFiles, type Config } from './config.ts'
import { createEventLog } from './eventlog/log/client.ts'
import type { EventLog } from './eventlog/log/types.ts'
import { monotonicClock, systemClock } from './kernel/clock.ts'
import { newId } from './kernel/ids.ts'
import { pause, within } from './kernel/pause.ts'
import { createDiskFloor } from './storage/local/disk-floor.ts'
import { type OpenedStorage, openStorage } from './storage/open.ts'
import type { ObjectStore } from './storage/types.ts'
import { startProjector } from './projector.ts'
import { readsOver } from './api/query/reads-over.ts'

/** What a process does; every role may run in any number of processes. */
export type Role = 'api' | 'projector' | 'worker'
export const roles: readonly Role[] = ['api', 'projector', 'worker']

export interface GatewayOptions {
  readonly config: Config
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly channels: readonly Channel[]
  /** Whether the channels are the sandbox's: only then demonstration prices are sold at. */
  readonly sandbox: boolean
  readonly markerSecret: string
  readonly roles: ReadonlySet<Role>
  readonly logger: Logger
  readonly version: string
  /** How hosts that callers and providers name are found: by DNS, unless a test names its own. */
  readonly hosts?: PublicFetchDeps
  /** Called once the log and Postgres have answered. */
  readonly storesAnswered?: () => void
  /** Called right before the ports are listened on: what answered there meanwhile lets go of them. */
  readonly freePorts?: () => Promise<void>
}

export interface Gateway {
  readonly log: EventLog
  readonly pool: Pool
  /** Where media lies; undefined: nowhere. */
  readonly store: ObjectStore | undefined
  /** Undefined without the `api` role. */
  readonly address: string | undefined
  /** Where readiness and metrics are, if they have a port of their own. */
  readonly operationsAddress: string | undefined
  /** From now on `/readyz` may say yes: what the operator prepares around a start is done. */
  readonly markReady: () => void
  /**
   * Leaves in order: says that it is not ready and serves on for the configured delay, stops listening,
   * finishes what is in flight within the configured bound, lets go.
   */
  readonly stop: () => Promise<void>
}

/** Past the drain bound, what was cancelled then gets this long to be settled and answered. */
const SETTLE_MARGIN_MS = 8_000
/** A database that does not answer at all is given up after this, and its connection with it. */
const QUERY_TIMEOUT_MS = 10_000

/**
 * Puts the program together over a log and a database and starts it; tests start it the same way.
 * What was started is let go again when a later step fails.
 * @throws when the price book is refused, the port is taken, or others have another secret
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const closers: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0))
      await close().catch((error: unknown) => options.logger.warn({ err: error }, 'closing failed'))
  }
  try {
    const started = await start(options, (close) => closers.unshift(close))
    return { ...started, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  options: GatewayOptions,
  onStop: (close: () => Promise<unknown>) => void,
): Promise<Omit<Gateway, 'stop'>> {
  const { config, logger } = options
  const clock = systemClock
  const metrics = createMetricsRegistry()
  const pool = openPool({
    databaseUrl: options.databaseUrl,
    max: config.databasePoolSize,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    onLost: lostBy(logger),
  })
  shareFairly(pool, { share: config.databaseTokenShare, registry: metrics })
  onStop(() => pool.end())
  const log = createEventLog({
    url: options.eventStoreUrl,
    namespace: config.namespace,
    log: logger,
    observer: eventLogMetrics(metrics),
  })
  onStop(() => log.close())
  await log.checkAccess()
  await migrateEngine(pool, allProjections)
  await migrateOps(pool)
  await agreeOnSecret(pool, options.markerSecret)
  options.storesAnswered?.()
  const projected = await readFirstPlace(pool, allProjections)
  if (projected !== undefined) log.passed(projected)
  const startedBook = await publishPrices({ ...options, log, clock })
  if (options.roles.has('projector'))
    onStop(startProjector({ databaseUrl: options.databaseUrl, log, logger }))

  let listensAt: string | undefined
  const storage = await openStorage(config.objectStorage, {
    directory: dataFiles(config.dataDir).objects,
    secret: options.markerSecret,
    baseUrl: () => config.publicBaseUrl ?? listensAt,
    clock,
    namespace: config.namespace,
  })
  const { objects } = storage
  const store = objects?.store
  onStop(async () => store?.close())
  const parts = compose({
    store,
    pool,
    log,
    channels: options.channels,
    sandbox: options.sandbox,
    uploadLimits: config.uploads,
    checkDisk:
      storage.local &&
      createDiskFloor({ directory: config.dataDir, floorBytes: config.uploads.diskFloorBytes }),
    markerSecret: options.markerSecret,
    pollRequestsPerSecond: config.pollRequestsPerSecond,
    ownRequestsPerMinute: config.ownRequestsPerMinute,
    clock,
    logger,
    metrics,
    crashPoint: crashPointFrom(config.crashAt),
    ...(options.hosts === undefined ? {} : { hosts: options.hosts }),
  })
  onStop(() => parts.stop())
  const deps = parts.tasks
  const owner = newId('process', clock.nowMs())
  if (options.roles.has('worker')) {
    const settings = { owner, scale: config.pollScale }
    const policies = startPolicies(deps, settings, [
      imagePolicies(parts.imageTasks, settings),
      { policies: assetPolicies(parts.assets, settings.scale) },
      balanceAlertPolicies({
        ...deps,
        post: createPostOut({
          ...(options.hosts ?? { resolveHost: resolveByDns }),
          trustedOrigins: config.webhookOrigins,
        }),
        registry: metrics,
      }),
    ])
    onStop(() => policies.stop())
    if (objects !== undefined)
      onStop(startPurge({ ...deps, namespace: config.namespace, objects, registry: metrics }).stop)
  } else if (options.roles.has('api')) onStop((await startPresence(deps, owner)).stop)
  let stage: 'starting' | 'serving' | 'leaving' = 'starting'
  const said: Said = {
    accepting: () => stage === 'serving',
    leaving: () => stage === 'leaving',
    concerns: [
      priceConcern({
        prices: deps.prices,
        served: servedModels(options.channels),
        started: startedBook,
        registry: metrics,
      }),
    ],
  }
  const addresses = options.roles.has('api')
    ? await listen(options, { ...parts, storage }, { metrics, said, owner, onStop })
    : { address: undefined, operationsAddress: undefined }
  listensAt = addresses.address
  onStop(async () => {
    // Nobody was told to come before it was ready.
    const delayMs = stage === 'serving' && options.roles.has('api') ? config.shutdownDelayMs : 0
    stage = 'leaving'
    await pause(delayMs)
  })
  return { log, pool, store, ...addresses, markReady: () => (stage = 'serving') }
}

async function listen(
  options: GatewayOptions,
  parts: Parts & { readonly storage: OpenedStorage },
  {
    metrics,
    said,
    owner,
    onStop,
  }: {
    readonly metrics: Registry
    readonly said: Said
    /** Names this process among those that are present. */
    readonly owner: string
    readonly onStop: (close: () => Promise<unknown>) => void
  },
): Promise<Pick<Gateway, 'address' | 'operationsAddress'>> {
  const { config, logger } = options
  const { tasks: deps } = parts
  const { pool, log, clock, throttle } = deps
  const { local } = parts.storage
  const queryPool = openQueryPool(options.databaseUrl, config.queries, lostBy(logger))
  onStop(() => queryPool.end())
  const access = await startAccess({ config, parts, registry: metrics, onStop })
  const lag = watchLedger(pool, log)
  await seeLedger(lag)
  const calls = await startCalls({
    ...parts.calls({ replica: owner, lag }),
    registry: metrics,
    spoolDirectory: dataFiles(config.dataDir).spool,
  })
  const concerns = [...said.concerns, refusedConcern(calls.refused)]
  const health: Health = { ...createHealth(deps, { ...said, concerns }), spool: calls.backlog }
  const operations =
    config.operationsPort === undefined
      ? undefined
      : await buildOperationsApp({ logger, clock, metrics, health })
  // It is asked how the leaving goes, to the end.
  onStop(async () => operations?.close())
  let closeApp = (): Promise<void> => Promise.resolve()
  onStop(async () => {
    const untilMs = monotonicClock.nowMs() + config.drainTimeoutMs
    const closing = closeApp()
    // What was sent before the port was closed is begun and answered; only then calls are refused.
    await within(config.drainTimeoutMs, closing, () => undefined)
    await Promise.all([closing, calls.stop(Math.max(0, untilMs - monotonicClock.nowMs()))])
  })
  const app = await buildApp({
    logger,
    clock,
    metrics,
    ...access,
    ...useCases(parts, calls),
    resolveMediaFiles: createMediaFiles({ log, clock }),
    standingsOf: throttle.standings,
    countQuery: throttle.query,
    ownTurn: throttle.own,
    readKey: createReadKey({ db: pool, throttle }),
    readOwnBudgets: parts.budgets.standings,
    uploads: parts.files.quota,
    ...management({ ...options, log, db: queryPool, clock }),
    ...readsOver({
      db: queryPool,
      logEnd: () => log.endPosition(),
      readModels: deps.readModels,
      funds: calls.deps.funds,
      clock,
      served: servedModels(options.channels),
    }),
    objects: local && ((key, query) => local.fileOf(key, query, clock.nowMs())),
    resolveHost: options.hosts?.resolveHost ?? resolveByDns,
    upstreamHosts: new Set(options.channels.map(({ baseUrl }) => new URL(baseUrl).hostname)),
    version: options.version,
    health,
    operationsElsewhere: config.operationsPort !== undefined,
    trustedProxies: config.trustedProxies,
    leaving: said.leaving,
  })
  useLedgerMetrics(metrics, {
    totals: () => totals(pool),
    lastAudit: () => readLastAudit(pool),
  })
  closeApp = () => drain(app, config.drainTimeoutMs + SETTLE_MARGIN_MS)
  const { host, port, operationsPort } = config
  await options.freePorts?.()
  const address = await app.listen({ port, host })
  const operationsAddress = await operations?.listen({ port: operationsPort ?? 0, host })
  return { address, operationsAddress }
}

const lostBy = (logger: Logger) => (error: Error) =>
  logger.warn({ err: error.message }, 'idle database connection lost')
