import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { GatewayServices } from '../api/app.ts'
import { createFingerprintOf } from '../api/kit/bodies/body-fingerprint.ts'
import { readsOver, searchOver } from '../api/query/projection-reads.ts'
import type { Recall, Resume } from '../app/access/principal.ts'
import { createReadKey } from '../app/access/token-status.ts'
import { createManagedProposals } from '../app/accounts/managed-proposals.ts'
import { createManagedTenants } from '../app/accounts/managed-tenants.ts'
import { createManagedTokens } from '../app/accounts/managed-tokens.ts'
import type { ManagementDeps } from '../app/accounts/management.ts'
import { createManagedSettings } from '../app/accounts/settings.ts'
import { createAssetUseCases } from '../app/assets/use-cases.ts'
import { createCallRunner } from '../app/calls/running-calls.ts'
import { startCalls, type StartedCalls } from '../app/calls/start.ts'
import { createMediaUseCases } from '../app/calls/uploads/use-cases.ts'
import { createMediaFiles } from '../app/files/uploads/media-files.ts'
import { createFileUseCases } from '../app/files/use-cases.ts'
import { crashPointFrom } from '../app/crash-points.ts'
import { servedModels } from '../app/channels/served-models.ts'
import { createManagedIssuer } from '../app/finance/statements/issuer.ts'
import { createManagedVoids } from '../app/finance/statements/void.ts'
import { createReadModelPrices } from '../app/finance/prices/model-prices.ts'
import { createManagedPriceBooks } from '../app/finance/prices/managed-price-books.ts'
import type { Channel } from '../app/ports/provider.ts'
import { createLifeActions } from '../app/support/actions/life-actions.ts'
import { createSavedViews } from '../app/support/actions/saved-views.ts'
import { createViewTenant } from '../app/support/actions/tenant-views.ts'
import { doCallsHold } from '../app/spending/replica-reports.ts'
import { seeLedger } from '../app/spending/ledger-lag.ts'
import { createImageTaskUseCases } from '../app/tasks/images/use-cases.ts'
import { keyHashOf } from '../kernel/keyed-hash.ts'
import { createTaskUseCases } from '../app/tasks/use-cases.ts'
import { type Config, dataFiles, issuerName } from '../config.ts'
import type { ServedModel } from '../domain/catalog/catalog.ts'
import { createLookUps } from '../eventlog/log/look-ups.ts'
import type { PublicFetchDeps } from '../families/kit/http/public-fetch.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ResolveHost } from '../kernel/public-url.ts'
import { resolveByDns } from '../platform/resolve-host.ts'
import { createDiskFloor } from '../storage/local/disk.ts'
import type { OpenedStorage } from '../storage/open.ts'
import { openQueryPool } from '../storage/postgres/pool.ts'
import { startAccess } from './access.ts'
import { openLineFiles, openStatements } from './statements.ts'
import { compose, type Dependencies, type Infrastructure } from './compose.ts'

export interface ServicesOptions {
  readonly config: Config
  readonly databaseUrl: string
  readonly channels: readonly Channel[]
  /** Whether the channels are the sandbox's: demonstration prices apply only then. */
  readonly sandbox: boolean
  readonly markerSecret: string
  readonly logger: Logger
  /** The clock for durations; its default is the machine's. */
  readonly monotonic?: Clock
  /** How hosts that callers and providers name are found: by DNS, unless a test names its own. */
  readonly hosts?: PublicFetchDeps
}

/** The dependencies that a process gives to its parts. */
export interface ProcessContext {
  readonly metrics: Registry
  /** Names this process among those that are present. */
  readonly owner: string
  readonly onStop: (close: () => Promise<unknown>) => void
}

export interface StartedServices {
  readonly services: GatewayServices
  /** Looks up the token of a session again. */
  readonly resume: Resume
  /** What the process knows of that token while it cannot be looked up. */
  readonly recall: Recall
  /** The calls under way, and the journal that they are settled in. */
  readonly calls: StartedCalls
}

/** Logs a connection of a pool that was lost while it was idle. */
export const logLostConnection = (logger: Logger) => (error: Error) =>
  logger.warn({ err: error.message }, 'idle database connection lost')

/** Makes what use cases and background work are built from, as the configuration says. */
export function composeFor(
  options: ServicesOptions,
  infra: Pick<Infrastructure, 'pool' | 'log' | 'families' | 'clock' | 'metrics' | 'foreseenMs'>,
  { objects, local }: OpenedStorage,
): Dependencies {
  const { config } = options
  const { dataDir: directory, uploads } = config
  const needsDisk = local !== undefined || config.external === undefined
  return compose({
    ...config,
    ...options,
    ...infra,
    store: objects?.store,
    uploadLimits: uploads,
    checkDisk: needsDisk
      ? createDiskFloor({ directory, floorBytes: uploads.diskFloorBytes })
      : undefined,
    crashPoint: crashPointFrom(config.crashAt),
  })
}

/** Builds every use case of a process with callers, and starts what follows its tokens and calls. */
export async function startServices(
  options: ServicesOptions,
  deps: Dependencies,
  { metrics, owner, onStop }: ProcessContext,
): Promise<StartedServices> {
  const { config, logger, hosts } = options
  const { pool, log, catalog, channels, clock, throttle, readModels, freshness, prices } =
    deps.tasks
  // Finance, support and callers never wait for each other's connections.
  const db = openQueryPool(options.databaseUrl, config.queries, logLostConnection(logger))
  onStop(() => db.end())
  const access = await startAccess({ config, deps, registry: metrics, onStop })
  const { authenticate, resume, recall } = access.authenticator
  await seeLedger(freshness)
  const calls = await startCalls({
    ...deps.calls(owner),
    registry: metrics,
    spoolDirectory: dataFiles(config.dataDir).spool,
  })
  access.onDisabled(calls.running.endOfToken)
  const [served, { funds }] = [servedModels(options.channels), calls.deps]
  const logEnd = () => log.endPosition()
  const read = { db, log, logEnd, readModels, funds, catalog, clock, served }
  const resolve = hosts?.resolveHost ?? resolveByDns
  const { statements, queries } = openQueries(options, { ...deps, read, onStop })
  const services: GatewayServices = {
    clock,
    models: { catalog, channels, prices: createReadModelPrices({ ...options, catalog, prices }) },
    tokens: {
      authenticate,
      tenantAccess: deps.tenantAccess,
      used: access.tokenUsed,
      refused: access.tokenRefused,
      show: createReadKey({ ...deps, db: pool, throttle }),
      budgets: deps.budgets.statuses,
    },
    throttle,
    calls: createCallRunner(calls.deps, calls.running),
    tasks: createTaskUseCases(deps.tasks),
    images: { family: deps.images, tasks: createImageTaskUseCases(deps.imageTasks) },
    assets: createAssetUseCases(deps.assets, deps.assets.findAssetTypes),
    files: {
      kept: createFileUseCases(deps.files),
      media: createMediaUseCases({ ...calls.deps, ...deps.media }, calls.running),
      find: createMediaFiles({ log: createLookUps(log), clock }),
      quota: deps.files.quota,
      checkDisk: deps.checkDisk,
    },
    accounts: accountsOver(
      { ...options, log, catalog, db, clock },
      { served, resolve, queries, statements, tasks: deps.tasks },
    ),
    support: supportOver({ ...read, ...deps }, options),
    hosts: {
      resolve,
      upstream: new Set(options.channels.map(({ baseUrl }) => new URL(baseUrl).hostname)),
    },
    queries,
  }
  return { services, resume, recall, calls }
}

/** Opens closed months, and all reads of finance, support and consoles, which show them too. */
function openQueries(
  options: ServicesOptions,
  {
    read,
    facts,
    tasks: { log, crashPoint },
    onStop,
  }: Pick<Dependencies, 'facts' | 'tasks'> &
    Pick<ProcessContext, 'onStop'> & {
      readonly read: Omit<
        Parameters<typeof readsOver>[0],
        'settingsOf' | 'issuer' | 'statements' | 'runJob' | 'lineFiles'
      >
    },
) {
  const { stop, ...closed } = openStatements(options, { ...read, log, crashPoint })
  onStop(stop)
  const { lineFiles, stop: stopFiles } = openLineFiles(options)
  onStop(stopFiles)
  const issuer = issuerName(options.config)
  const settingsOf = facts.of
  const queries = readsOver({ ...read, ...closed, lineFiles, settingsOf, issuer })
  return { statements: closed.statements, queries }
}

/** Finds what support looks for, and names bodies so that a repeated one is recognised. */
function supportOver(
  deps: Omit<Parameters<typeof searchOver>[0], 'keyHash'>,
  { markerSecret }: Pick<ServicesOptions, 'markerSecret'>,
): GatewayServices['support'] {
  return {
    search: searchOver({ ...deps, keyHash: (key) => keyHashOf(markerSecret, key) }),
    fingerprintOf: createFingerprintOf(markerSecret),
  }
}

/** Use cases that manage accounts, tokens, settings and prices over HTTP. */
function accountsOver(
  deps: ManagementDeps & Pick<ServicesOptions, 'config' | 'markerSecret'>,
  {
    served,
    resolve: resolveHost,
    queries: { reads, accounts },
    statements,
    tasks,
  }: {
    readonly served: readonly ServedModel[]
    readonly resolve: ResolveHost
    readonly queries: GatewayServices['queries']
    readonly statements: GatewayServices['accounts']['statements']
    readonly tasks: Dependencies['tasks']
  },
): GatewayServices['accounts'] {
  const { rateLimits: defaultLimits, queries, webhookTargets: trustedTargets } = deps.config
  const tenants = createManagedTenants(deps)
  return {
    tenants,
    balances: accounts.balances,
    statements,
    lives: createLifeActions({ ...tasks, tasks, findLife: reads.life }),
    viewTenant: createViewTenant(deps, tenants),
    savedViews: createSavedViews(deps),
    proposals: createManagedProposals(deps),
    issuer: createManagedIssuer(deps),
    voids: createManagedVoids({ ...deps, crashPoint: tasks.crashPoint }),
    tokens: createManagedTokens({ ...deps, defaultLimits, served }),
    settings: createManagedSettings(
      {
        ...deps,
        doCallsHold,
        servedModels: () => Promise.resolve(served),
        resolveHost,
        trustedTargets,
      },
      tenants,
    ),
    priceBooks: createManagedPriceBooks({
      ...deps,
      tenants,
      served,
      queryTimeoutMs: queries.timeoutMs,
    }),
  }
}
