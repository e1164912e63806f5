import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { type ApiOptions, buildApp } from '../api/app.ts'
import { drain } from '../api/kit/bounds/drain.ts'
import { channelConcern, createHealth, type Lifecycle } from '../api/operating/gateway-health.ts'
import { type Health, setAsideConcern } from '../api/operating/health.ts'
import { readOperations } from '../api/operating/operations.ts'
import { createClaimTokens } from '../app/accounts/claim-tokens.ts'
import { SESSION_MAX_MS } from '../app/access/console-sessions.ts'
import type { ChannelDirectory } from '../app/channels/directory.ts'
import type { Config } from '../config.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { monotonicClock } from '../kernel/clock.ts'
import { programFile } from '../platform/program-files.ts'
import type { Console } from '../console/surface.tsx'
import { withTimeout } from '../kernel/pause.ts'
import type { OpenedStorage } from '../storage/open.ts'
import type { Dependencies } from './compose.ts'
import { chooseConnectionBounds } from './open-files.ts'
import { buildOperations } from './operations.ts'
import type { ProcessContext, StartedServices } from './services.ts'

/** Options of the HTTP interface besides its services. */
export interface ListenOptions {
  readonly config: Config
  readonly logger: Logger
  readonly version: string
  /** Called right before the ports are listened on: the interim server releases them. */
  readonly freePorts?: () => Promise<void>
}

/** Where a gateway listens. */
export interface Addresses {
  /** Undefined without the `api` role. */
  readonly address: string | undefined
  /** Where readiness and metrics are, if they have a port of their own. */
  readonly operationsAddress: string | undefined
  /** A link that signs in to the console once with the secret of a token; undefined without a console. */
  readonly entryLink: ((secret: string) => string) | undefined
}

/** After the drain bound, cancelled calls get this long to be settled and answered. */
const SETTLE_MARGIN_MS = 8_000

/**
 * Builds the HTTP interface over the services and listens; the operating routes may have a separate
 * port. When it is stopped, it drains.
 */
export async function listen(
  options: ListenOptions,
  { services, resume, recall, calls }: StartedServices,
  { tasks: { pool, log, readModels, channels }, surfaces }: Dependencies,
  { local }: Pick<OpenedStorage, 'local'>,
  lifecycle: Lifecycle,
  { metrics, onStop }: Pick<ProcessContext, 'metrics' | 'onStop'>,
): Promise<Addresses> {
  const { config, logger, version } = options
  const { clock } = services
  const { bounds, warning } = chooseConnectionBounds(config)
  if (warning !== undefined) logger.warn({ ...bounds }, warning)
  const own = [setAsideConcern(calls.setAside), channelConcern(channels)]
  const concerns = [...lifecycle.concerns, ...own]
  const checks = createHealth({ pool, log, readModels }, { ...lifecycle, concerns })
  const health: Health = { ...checks, spool: calls.backlog }
  const { operationsHosts } = config
  const operations = await buildOperations(options, health, { pool, clock }, { metrics, onStop })
  let closeApp = (): Promise<void> => Promise.resolve()
  onStop(async () => {
    const untilMs = monotonicClock.nowMs() + config.drainTimeoutMs
    const closing = closeApp()
    // Requests that were sent before the port closed are still started and answered; only after
    // that calls are refused.
    await withTimeout(config.drainTimeoutMs, closing, () => undefined)
    await Promise.all([closing, calls.stop(Math.max(0, untilMs - monotonicClock.nowMs()))])
  })
  const objects: ApiOptions['objects'] =
    local && ((key, query) => local.signedObject(key, query, clock.nowMs()))
  const pages = await consoleOf(config, {
    services,
    resume,
    recall,
    db: pool,
    log,
    health,
    channels,
  })
  const app = await buildApp(services, {
    logger,
    metrics,
    surfaces: pages === undefined ? surfaces : [...surfaces, pages.surface],
    health,
    objects,
    operationsHosts,
    operationsElsewhere: config.operationsPort !== undefined,
    trustedProxies: config.trustedProxies,
    leaving: lifecycle.leaving,
    version,
    description: builtDescription(),
    limits: { connections: bounds },
  })
  closeApp = () => drain(app, drainBounds(config))
  const { host, port } = config
  await options.freePorts?.()
  const address = await app.listen({ port, host })
  const operationsAddress = await operations?.listen()
  const entryLink = pages && ((secret: string) => `${address}${pages.entryPath(secret)}`)
  return { address, operationsAddress, entryLink }
}

const drainBounds = ({ drainTimeoutMs, shutdownDelayMs }: ListenOptions['config']) => ({
  boundMs: drainTimeoutMs + SETTLE_MARGIN_MS,
  unusedMs: shutdownDelayMs,
})

/** Opens the operations port alone, if there is one, for a process that serves no callers. */
export async function listenForProbes(
  options: ListenOptions,
  { tasks: { pool, log, readModels, clock } }: Pick<Dependencies, 'tasks'>,
  lifecycle: Lifecycle,
  context: Pick<ProcessContext, 'metrics' | 'onStop'>,
): Promise<Addresses> {
  const health = createHealth({ pool, log, readModels }, lifecycle)
  const operations = await buildOperations(options, health, { pool, clock }, context)
  await options.freePorts?.()
  const operationsAddress = await operations?.listen()
  return { address: undefined, operationsAddress, entryLink: undefined }
}

/** Reads the OpenAPI document of the build; undefined for a program that runs from its sources. */
function builtDescription(): ApiOptions['description'] {
  const file = programFile('openapi.json')
  return existsSync(file) ? () => readFile(file, 'utf8') : undefined
}

/** The console, unless it is off; a process without it does not load its pages. */
async function consoleOf(
  config: Pick<Config, 'console' | 'oidc'>,
  {
    services,
    resume,
    recall,
    db,
    log,
    health,
    channels,
  }: Pick<StartedServices, 'services' | 'resume' | 'recall'> & {
    readonly db: Pool
    readonly log: EventLog
    readonly health: Health
    readonly channels: Pick<ChannelDirectory, 'health' | 'byId'>
  },
): Promise<Console | undefined> {
  if (config.console === 'off') return undefined
  const { createConsole } = await import('../console/surface.tsx')
  const { queries, clock, tokens, models } = services
  const { authenticate, tenantAccess } = tokens
  const operations = readOperations({ db, health, channels, catalog: models.catalog })
  const access = { resume, recall, authenticate, tenantAccess }
  const { oidc } = config
  // Without roles by claim, no sign-in reads or writes the log.
  const isByClaim = oidc !== undefined && oidc.roles.length > 0
  const claimTokens = isByClaim
    ? createClaimTokens({
        log,
        db,
        clock,
        catalog: models.catalog,
        provider: oidc,
        validMs: SESSION_MAX_MS,
      })
    : undefined
  const provider = oidc && { ...oidc, ...(isByClaim ? {} : { roleClaim: undefined }) }
  return createConsole(queries, {
    db,
    clock,
    ...access,
    operations,
    claimTokens,
    oidc: provider,
  })
}
