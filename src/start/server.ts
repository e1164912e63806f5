import { families as allFamilies } from '../families/index.ts'
import { catalogOf, type FamilyModule } from '../families/module.ts'
import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { readFirstPlace } from '../../projections/engine/checkpoint.ts'
import { allProjections } from '../../projections/registry.ts'
import { clockConcern, type Lifecycle } from '../api/operating/gateway-health.ts'
import { createPostOut } from '../families/kit/http/public-fetch.ts'
import { rememberUnresolved, resolveByDns } from '../platform/resolve-host.ts'
import { createMetricsRegistry, eventLogMetrics } from '../app/metrics.ts'
import { openPool } from '../storage/postgres/pool.ts'
import { shareFairly } from '../storage/postgres/pool-share.ts'
import { migrateDatabase, requireMigrated } from './migration.ts'
import { objectsConcern } from '../app/files/objects/concern.ts'
import { startPurge } from '../app/files/objects/purge.ts'
import { checkBelonging, notBelonging, requireBelonging } from '../app/access/installation.ts'
import { agreeOnSecret } from '../app/access/secret-agreement.ts'
import { PROGRAM_ACTOR } from '../app/accounts/account-commands.ts'
import { assetPolicies } from '../app/assets/watch/policies.ts'
import { imagePolicies } from '../app/tasks/images/policies.ts'
import { balanceAlertPolicies } from '../app/accounts/alerts/policy.ts'
import { servedModels } from '../app/channels/served-models.ts'
import { priceConcern } from '../app/finance/prices/price-readiness.ts'
import { nightlyAuditPolicies } from '../app/audit/nightly.ts'
import { startKeyPublication, statementSigner } from '../app/finance/statements/key.ts'
import { publishPrices } from '../app/finance/prices/publish-at-start.ts'
import { FORESEEN_MS, type TaskLookSettings } from '../app/tasks/watch/task-work.ts'
import { taskPolicies } from '../app/tasks/watch/policies.ts'
import { taskWork } from '../app/tasks/watch/task-work.ts'
import { SeenModels } from '../app/queue/seen-models.ts'
import { startPresence, startWorker, type Worker } from '../app/queue/worker.ts'
import { assetWork } from '../app/assets/watch/asset-work.ts'
import type { Dependencies, Infrastructure } from './compose.ts'
import { dataFiles, signingHost } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import { LogGuard } from '../eventlog/log/guard.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { systemClock, watchClock, monotonicClock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { pause } from '../kernel/pause.ts'
import { type OpenedStorage, openStorage } from '../storage/open.ts'
import type { ObjectStore } from '../storage/types.ts'
import { auditInChild } from './nightly-audit.ts'
import { startProjector } from './projector.ts'
import type { Role } from './roles.ts'
import { type Addresses, listen, listenForProbes, type ListenOptions } from './listen.ts'
import { healthByRole } from './operations.ts'
import {
  composeFor,
  logLostConnection,
  type ProcessContext,
  type ServicesOptions,
  startServices,
} from './services.ts'

interface GatewayOptions extends ListenOptions, ServicesOptions {
  readonly eventStoreUrl: string
  readonly roles: ReadonlySet<Role>
  /** Whether it creates and changes tables; by default a projector does. */
  readonly migrates?: boolean
  /** The families of the program, unless a test adds more. */
  readonly families?: readonly FamilyModule[]
  /** Called once the log and Postgres have answered. */
  readonly storesAnswered?: () => void
  /** Called, with the reason, when the process cannot go on, and a new one can. */
  readonly startAgain: (reason: string) => void
  /** What the disks of embedded stores lack, in words. */
  readonly diskLacks?: () => readonly string[]
  /** How many lines the log of the process has lost. */
  readonly lostLogLines?: () => number
}

export interface Gateway extends Addresses {
  readonly log: EventLog
  readonly pool: Pool
  /** The store of media; undefined: the gateway keeps none. */
  readonly store: ObjectStore | undefined
  /** Called when the start is complete: from now on `/readyz` may report ready. */
  readonly markReady: () => void
  /**
   * Shuts down in order: reports not ready and serves for the configured delay, stops listening,
   * finishes work in flight within the configured bound, closes the stores.
   */
  readonly stop: () => Promise<void>
}

/**
 * The gateway gives up a database that does not answer after this time, and closes the connection.
 */
const QUERY_TIMEOUT_MS = 10_000
/** Every table of leased work: each process frees the leases of dead processes in all of them. */
const workTables = [taskWork, assetWork]

/**
 * Puts the program together over a log and a database and starts it; tests start it the same way.
 * When a later step fails, it closes what it started.
 * @throws when the price book is refused, the port is taken, or others have another secret
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const closers: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0))
      await close().catch((error: unknown) => options.logger.warn({ err: error }, 'closing failed'))
  }
  try {
    const { hosts } = options
    const resolveHost = rememberUnresolved(hosts?.resolveHost ?? resolveByDns)
    const started = await start({ ...options, hosts: { ...hosts, resolveHost } }, (close) =>
      closers.unshift(close),
    )
    return { ...started, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type OnStop = ProcessContext['onStop']

async function start(options: GatewayOptions, onStop: OnStop): Promise<Omit<Gateway, 'stop'>> {
  const { config, logger, families = allFamilies } = options
  const catalog = catalogOf(families)
  const clock = systemClock
  const metrics = createMetricsRegistry(options.lostLogLines)
  onStop(watchClock(clock, options.startAgain))
  const { pool, log, unguarded } = await openStores(options, metrics, onStop)
  const served = servedModels(options.channels)
  const startedBook = await publishPrices({ ...options, served, log, catalog, clock })
  const projector = options.roles.has('projector')
    ? startProjector({ databaseUrl: options.databaseUrl, log: unguarded, logger })
    : undefined
  onStop(async () => projector?.stop())
  let listensAt: string | undefined
  const storage = await openStorage(config.objectStorage, {
    directory: dataFiles(config.dataDir).objects,
    secret: options.markerSecret,
    baseUrl: () => config.publicBaseUrl ?? listensAt,
    clock,
    namespace: config.namespace,
  })
  const store = storage.objects?.store
  onStop(async () => store?.close())
  const looks = lookSettings(options)
  const infra = { pool, log, families, clock, metrics, ...looks }
  const deps = composeFor(options, infra, storage)
  onStop(() => deps.stop())
  const context = { metrics, owner: newId('process', clock.nowMs()), onStop, ...looks }
  const worker = await startBackground(options, deps, { ...context, objects: storage.objects })
  let stage: 'starting' | 'serving' | 'leaving' = 'starting'
  const lifecycle: Lifecycle = {
    accepting: () => stage === 'serving',
    leaving: () => stage === 'leaving',
    concerns: [
      priceConcern({ ...deps.tasks, served, started: startedBook, registry: metrics }),
      clockConcern(clock, metrics),
      { name: 'disk', look: () => Promise.resolve(options.diskLacks?.() ?? []) },
      ...(storage.objects === undefined ? [] : [objectsConcern(storage.objects, metrics)]),
    ],
    // A process that serves callers goes on with them whatever becomes of its other roles.
    ...(options.roles.has('api') ? {} : healthByRole(projector, worker)),
  }
  const addresses = options.roles.has('api')
    ? await listen(
        options,
        await startServices(options, deps, context),
        deps,
        storage,
        lifecycle,
        context,
      )
    : await listenForProbes(options, deps, lifecycle, context)
  listensAt = addresses.address
  publishStatementKey(options, { log, clock }, onStop)
  onStop(async () => {
    // A process that was never ready got no requests from a load balancer, so it needs no delay.
    const delayMs = stage === 'serving' && options.roles.has('api') ? config.shutdownDelayMs : 0
    stage = 'leaving'
    await pause(delayMs)
  })
  return { log, pool, store, ...addresses, markReady: () => (stage = 'serving') }
}

/** A process that serves callers signs statements: verifiers find its public key in the log. */
function publishStatementKey(
  { config, roles, markerSecret, logger }: GatewayOptions,
  infra: Pick<Infrastructure, 'log' | 'clock'>,
  onStop: OnStop,
): void {
  const host = roles.has('api') ? signingHost(config) : undefined
  if (host === undefined) return
  const { vkey } = statementSigner(host, markerSecret)
  onStop(startKeyPublication({ ...infra, logger }, vkey).stop)
}

/**
 * Opens the log and Postgres, with the tables that this program needs. The log is guarded against
 * being another one than the database's; the read models compare it themselves.
 * @throws LogOlderError, NotBelongingError, NotMigratedError
 */
async function openStores(
  options: GatewayOptions,
  metrics: Registry,
  onStop: OnStop,
): Promise<Pick<Gateway, 'log' | 'pool'> & { readonly unguarded: EventLog }> {
  const { config, logger } = options
  const pool = openPool({
    databaseUrl: options.databaseUrl,
    max: config.databasePoolSize,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    onLost: logLostConnection(logger),
  })
  shareFairly(pool, { userShare: config.databaseUserShare, registry: metrics })
  onStop(() => pool.end())
  const observer = eventLogMetrics(metrics)
  const { startAgain } = options
  const guard = new LogGuard({ logger, observer, refusalOf: notBelonging, startAgain })
  const unguarded = createEventLog({
    url: options.eventStoreUrl,
    namespace: config.namespace,
    log: logger,
    observer: guard.observer,
  })
  onStop(() => (guard.stop(), unguarded.close()))
  await unguarded.checkAccess()
  if (options.migrates ?? options.roles.has('projector')) await migrateDatabase(pool)
  else await requireMigrated(pool)
  const adopts = config.external === undefined
  const stores = { pool, log: unguarded, projections: allProjections, clock: systemClock }
  await requireBelonging(stores, { adopts, actor: PROGRAM_ACTOR })
  const { isShort } = await agreeOnSecret(pool, options.markerSecret)
  if (isShort) logger.warn({}, 'MARKER_SECRET is short: replace it by one of 32 characters or more')
  const log = guard.guard(unguarded, () => checkBelonging(stores))
  options.storesAnswered?.()
  const projected = await readFirstPlace(pool, allProjections)
  if (projected !== undefined) log.passed(projected)
  return { log, pool, unguarded }
}

/** How this process looks for work that its rounds have not seen yet. */
function lookSettings({
  roles,
  config: { pollScale },
}: Pick<GatewayOptions, 'roles' | 'config'>): TaskLookSettings {
  return {
    // A worker that serves no callers cannot know when they have created tasks.
    foreseenMs: roles.has('api') ? FORESEEN_MS * Math.min(1, pollScale) : 0,
    // Where rests are shortened, a heartbeat a second would be late.
    models: pollScale < 1 ? undefined : new SeenModels(monotonicClock),
  }
}

/**
 * Starts background work: all of a worker's, or the presence of a process that only serves callers.
 */
async function startBackground(
  options: GatewayOptions,
  { tasks, imageTasks, assets }: Dependencies,
  {
    owner,
    objects,
    metrics,
    onStop,
    models,
  }: ProcessContext & Pick<OpenedStorage, 'objects'> & Pick<TaskLookSettings, 'models'>,
): Promise<Pick<Worker, 'isPresent'> | undefined> {
  const { config, roles, hosts = { resolveHost: resolveByDns } } = options
  const { auditAt: at } = config
  const deps = { ...tasks, models }
  if (!roles.has('worker')) {
    if (roles.has('api')) onStop((await startPresence(deps, owner, workTables)).stop)
    return undefined
  }
  const settings = { owner, scale: config.pollScale }
  const worker = startWorker(deps, settings, workTables, [
    taskPolicies(deps, settings),
    imagePolicies(imageTasks, settings),
    assetPolicies({ ...assets, models }, settings),
    balanceAlertPolicies({
      ...deps,
      post: createPostOut({ ...hosts, trustedTargets: config.webhookTargets }),
      registry: metrics,
    }),
    ...(at === undefined
      ? []
      : [nightlyAuditPolicies({ ...deps, at, run: (signal) => auditInChild(options, signal) })]),
  ])
  onStop(() => worker.stop())
  if (objects !== undefined)
    onStop(startPurge({ ...deps, namespace: config.namespace, objects, registry: metrics }).stop)
  return worker
}
