import { readSilentSpools } from '../app/spending/lost-spools.ts'
import { type Config, dataFiles } from '../config.ts'
import type { Channel } from '../app/ports/provider.ts'
import type { PublicFetchDeps } from '../families/kit/http/public-fetch.ts'
import { resolveByDns } from '../kernel/resolve-host.ts'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { repeatedSettlements, totals } from '../../projections/ledger/query.ts'
import { buildApp } from '../api/app.ts'
import { buildOperationsApp } from '../api/operations-app.ts'
import { createHealth, type Lifecycle } from '../api/operating/gateway-health.ts'
import { type Health, setAsideConcern } from '../api/operating/health.ts'
import { useLedgerMetrics } from '../api/operating/ledger-metrics.ts'
import { drain } from '../api/kit/drain.ts'
import { readLastAudit } from '../app/audit/last-audit.ts'
import { seeLedger } from '../app/spending/ledger-lag.ts'
import { startAccess } from './access.ts'
import { createReadKey } from '../app/access/token-status.ts'
import { startCalls, type StartedCalls } from '../app/calls/start.ts'
import { openQueryPool } from '../storage/postgres/pool.ts'
import { servedModels } from '../app/finance/prices/concern.ts'
import { createMediaFiles } from '../app/files/uploads/media-files.ts'
import type { Services } from './compose.ts'
import type { ConnectionBounds } from '../api/kit/connections.ts'
import { createRefusedForms } from '../api/kit/refused-forms.ts'
import { chooseConnectionBounds } from './open-files.ts'
import { createLookUps } from '../eventlog/log/look-ups.ts'
import { monotonicClock } from '../kernel/clock.ts'
import { withTimeout } from '../kernel/pause.ts'
import type { OpenedStorage } from '../storage/open.ts'
import { readsOver } from '../api/query/projection-reads.ts'
import { createManagedTenants } from '../app/accounts/managed-tenants.ts'
import { createManagedTokens } from '../app/accounts/managed-tokens.ts'
import { createManagedSettings } from '../app/accounts/settings.ts'
import type { ManagementDeps } from '../app/accounts/management.ts'
import { createManagedPriceBooks } from '../app/finance/prices/managed-price-books.ts'
import type { AssetUseCases } from '../app/assets/types.ts'
import { createAssetUseCases } from '../app/assets/use-cases.ts'
import type { FileUseCases } from '../app/files/types.ts'
import { createFileUseCases } from '../app/files/use-cases.ts'
import type { ImageTaskUseCases } from '../app/tasks/images/types.ts'
import { createImageTaskUseCases } from '../app/tasks/images/use-cases.ts'
import type { TaskUseCases } from '../app/tasks/types.ts'
import { createTaskUseCases } from '../app/tasks/use-cases.ts'
import type { MediaUseCases } from '../app/calls/uploads/types.ts'
import { createMediaUseCases } from '../app/calls/uploads/use-cases.ts'
import { type CallRunner, createCallRunner } from '../app/calls/running-calls.ts'

/** Options of the HTTP interface besides its services. */
export interface ListenOptions {
  readonly config: Config
  readonly databaseUrl: string
  readonly channels: readonly Channel[]
  readonly markerSecret: string
  readonly logger: Logger
  readonly version: string
  /** How hosts that callers and providers name are found: by DNS, unless a test names its own. */
  readonly hosts?: PublicFetchDeps
  /** Called right before the ports are listened on: the interim server releases them. */
  readonly freePorts?: () => Promise<void>
}

type ListenServices = Services & { readonly storage: OpenedStorage }

/** What a process gives to the interface in addition to its services. */
interface ListenContext {
  readonly metrics: Registry
  readonly lifecycle: Lifecycle
  /** Names this process among those that are present. */
  readonly owner: string
  readonly onStop: (close: () => Promise<unknown>) => void
}

/** Where a gateway listens. */
export interface Addresses {
  /** Undefined without the `api` role. */
  readonly address: string | undefined
  /** Where readiness and metrics are, if they have a port of their own. */
  readonly operationsAddress: string | undefined
}

/** After the drain bound, cancelled calls get this long to be settled and answered. */
const SETTLE_MARGIN_MS = 8_000

/**
 * Builds the HTTP interface over the services and listens; the operating routes may have a separate
 * port.
 */
export async function listen(
  options: ListenOptions,
  services: ListenServices,
  { metrics, lifecycle, owner, onStop }: ListenContext,
): Promise<Addresses> {
  const { config, logger } = options
  const { tasks: deps } = services
  const { bounds, warning } = chooseConnectionBounds(config)
  if (warning !== undefined) logger.warn({ ...bounds }, warning)
  const { pool, clock } = deps
  const queryPool = openQueryPool(options.databaseUrl, config.queries, logLostConnection(logger))
  onStop(() => queryPool.end())
  const access = await startAccess({ config, services, registry: metrics, onStop })
  await seeLedger(deps.freshness)
  const calls = await startCalls({
    ...services.calls(owner),
    registry: metrics,
    spoolDirectory: dataFiles(config.dataDir).spool,
  })
  access.onDisabled(calls.running.endOfToken)
  const concerns = [...lifecycle.concerns, setAsideConcern(calls.setAside)]
  const health: Health = { ...createHealth(deps, { ...lifecycle, concerns }), spool: calls.backlog }
  const operations =
    config.operationsPort === undefined
      ? undefined
      : await buildOperationsApp({ logger, clock, metrics, health })
  // Operators query it until the shutdown ends.
  onStop(async () => operations?.close())
  let closeApp = (): Promise<void> => Promise.resolve()
  onStop(async () => {
    const untilMs = monotonicClock.nowMs() + config.drainTimeoutMs
    const closing = closeApp()
    // Requests that were sent before the port closed are still started and answered; only after
    // that calls are refused.
    await withTimeout(config.drainTimeoutMs, closing, () => undefined)
    await Promise.all([closing, calls.stop(Math.max(0, untilMs - monotonicClock.nowMs()))])
  })
  const app = await buildCallersApp(options, services, {
    access,
    calls,
    queryPool,
    metrics,
    health,
    leaving: lifecycle.leaving,
    bounds,
  })
  useLedgerMetrics(metrics, {
    totals: () => totals(pool),
    lastAudit: () => readLastAudit(pool),
    silentSpools: () => readSilentSpools(pool),
    passedOver: () => repeatedSettlements(pool),
  })
  closeApp = () => drain(app, config.drainTimeoutMs + SETTLE_MARGIN_MS)
  const { host, port, operationsPort } = config
  await options.freePorts?.()
  const address = await app.listen({ port, host })
  const operationsAddress = await operations?.listen({ port: operationsPort ?? 0, host })
  return { address, operationsAddress }
}

/** The app that callers, finance and support reach. */
function buildCallersApp(
  options: ListenOptions,
  services: ListenServices,
  running: {
    readonly access: Awaited<ReturnType<typeof startAccess>>
    readonly calls: StartedCalls
    /** The connections of finance and support. */
    readonly queryPool: Pool
    readonly metrics: Registry
    readonly health: Health
    readonly leaving: () => boolean
    readonly bounds: ConnectionBounds
  },
) {
  const { config, channels, hosts } = options
  const { calls, queryPool: db } = running
  const { pool, log, catalog, clock, throttle, readModels } = services.tasks
  const { local } = services.storage
  return buildApp({
    surfaces: services.surfaces,
    logger: options.logger,
    clock,
    catalog,
    channels: services.tasks.channels,
    metrics: running.metrics,
    ...running.access,
    ...useCases(services, calls),
    images: services.images,
    resolveMediaFiles: createMediaFiles({ log: createLookUps(log), clock }),
    limitStatusesOf: throttle.statuses,
    countQuery: throttle.query,
    ownTurn: throttle.own,
    free: throttle.free,
    attempt: throttle.attempt,
    refusedForms: createRefusedForms(throttle.refusedForms),
    checkDisk: services.checkDisk,
    readKey: createReadKey({ db: pool, throttle }),
    readOwnBudgets: services.budgets.statuses,
    uploads: services.files.quota,
    ...management({ ...options, log, catalog, db, clock }),
    ...readsOver({
      db,
      logEnd: () => log.endPosition(),
      readModels,
      funds: calls.deps.funds,
      catalog,
      clock,
      served: servedModels(channels),
    }),
    objects: local && ((key, query) => local.signedObject(key, query, clock.nowMs())),
    resolveHost: hosts?.resolveHost ?? resolveByDns,
    upstreamHosts: new Set(channels.map(({ baseUrl }) => new URL(baseUrl).hostname)),
    version: options.version,
    health: running.health,
    operationsElsewhere: config.operationsPort !== undefined,
    trustedProxies: config.trustedProxies,
    leaving: running.leaving,
    limits: { connections: running.bounds },
  })
}

/** Logs a connection of a pool that was lost while it was idle. */
export const logLostConnection = (logger: Logger) => (error: Error) =>
  logger.warn({ err: error.message }, 'idle database connection lost')

/** Use cases that manage accounts, tokens, settings and prices over HTTP. */
function management(
  deps: ManagementDeps & {
    readonly config: Pick<Config, 'rateLimits' | 'queries' | 'webhookTargets'>
    readonly channels: readonly Channel[]
    readonly markerSecret: string
    readonly hosts?: PublicFetchDeps
  },
) {
  const { rateLimits: defaultLimits, queries, webhookTargets: trustedTargets } = deps.config
  const { hosts: { resolveHost } = { resolveHost: resolveByDns } } = deps
  const served = servedModels(deps.channels)
  const managedTenants = createManagedTenants(deps)
  return {
    managedTenants,
    managedTokens: createManagedTokens({ ...deps, defaultLimits, served }),
    managedSettings: createManagedSettings(
      { ...deps, servedModels: () => Promise.resolve(served), resolveHost, trustedTargets },
      managedTenants,
    ),
    managedPriceBooks: createManagedPriceBooks({
      ...deps,
      tenants: managedTenants,
      served,
      queryTimeoutMs: queries.timeoutMs,
    }),
  }
}

/** All use cases of callers; those that answer synchronously are calls. */
function useCases(
  { tasks, imageTasks, files, assets, media }: Services,
  { deps, running }: Pick<StartedCalls, 'deps' | 'running'>,
): {
  readonly tasks: TaskUseCases
  readonly imageTasks: ImageTaskUseCases
  readonly files: FileUseCases
  readonly assets: AssetUseCases
  readonly calls: CallRunner
  readonly media: MediaUseCases
} {
  return {
    tasks: createTaskUseCases(tasks),
    imageTasks: createImageTaskUseCases(imageTasks),
    files: createFileUseCases(files),
    assets: createAssetUseCases(assets, assets.findAssetTypes),
    calls: createCallRunner(deps, running),
    media: createMediaUseCases({ ...deps, ...media }, running),
  }
}
