import { catalog, families } from '../../../src/families/index.ts'
import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import type { ServerVersion } from '../../../infra/embedded/eventstore/versions.ts'
import { startSandbox, type Sandbox } from '../../../infra/sandbox/server.ts'
import type { SandboxOptions } from '../../../infra/sandbox/options.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { startProjections } from '../../../projections/engine/engine.ts'
import { allProjections } from '../../../projections/registry.ts'
import {
  addUser,
  openTenant,
  type AccountCommandDeps,
} from '../../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../../src/app/accounts/credit.ts'
import { surviveLostConnections } from '../../../src/storage/postgres/pool.ts'
import { taskAssetsOf } from '../../../src/api/kit/routes/tasks.ts'
import type { Principal } from '../../../src/app/access/principal.ts'
import { sandboxTaskChannels } from '../../helpers/sandbox-channels.ts'
import { type CrashPoint, noCrash } from '../../../src/app/crash-points.ts'
import { type Limits, noLimits } from '../../../src/app/spending/throttle/limits.ts'
import type { AssetDeps, AssetLimits } from '../../../src/app/assets/deps.ts'
import type { AssetUseCases } from '../../../src/app/assets/types.ts'
import { createAssetUseCases } from '../../../src/app/assets/use-cases.ts'
import { assetWork } from '../../../src/app/assets/watch/asset-work.ts'
import { assetPolicies } from '../../../src/app/assets/watch/policies.ts'
import type { ImageTaskLimits } from '../../../src/app/tasks/images/deps.ts'
import { imagePolicies } from '../../../src/app/tasks/images/policies.ts'
import type { ImageTaskUseCases } from '../../../src/app/tasks/images/types.ts'
import { createImageTaskUseCases } from '../../../src/app/tasks/images/use-cases.ts'
import { startWorker } from '../../../src/app/queue/worker.ts'
import { taskPolicies } from '../../../src/app/tasks/watch/policies.ts'
import { taskWork } from '../../../src/app/tasks/watch/task-work.ts'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { publishPriceBook } from '../../../src/app/finance/prices/publish.ts'
import type { TaskDeps } from '../../../src/app/tasks/deps.ts'
import type { CreateTask, CreateTaskInput, TaskUseCases } from '../../../src/app/tasks/types.ts'
import {
  createUploadQuota,
  defaultUploadLimits,
  type UploadLimits,
  type UploadQuota,
} from '../../../src/app/files/uploads/quota.ts'
import { createTaskUseCases } from '../../../src/app/tasks/use-cases.ts'
import { acceptVideoARequest } from '../../../src/families/video-a/rules/request.ts'
import { acceptVideoBRequest } from '../../../src/families/video-b/rules/request.ts'
import type { AnyEvent } from '../../../src/domain/any-event.ts'
import { taskStream } from '../../../src/domain/task/events.ts'
import { type LedgerLag, seeLedger } from '../../../src/app/spending/ledger-lag.ts'
import { compose } from '../../../src/start/compose.ts'
import type { ObjectStore } from '../../../src/storage/types.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import type { EventLogLimits } from '../../../src/eventlog/log/limits.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { type Clock, systemClock } from '../../../src/kernel/clock.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { newRequestId, sha256Hex } from '../../../src/kernel/ids.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import {
  newNamespace,
  startEventStore,
  startLocalEventStore,
  type TestEventStore,
} from '../../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

/** A gateway without HTTP over real parts: event store, Postgres, sandbox, projections. */

export const TENANT = 'tenant_1'
const MARKER_SECRET = 'a marker secret of the tests'

export interface ReplicaOptions {
  readonly channels?: readonly Channel[]
  readonly policies?: boolean
  readonly scale?: number
  readonly perSecond?: number
  readonly clock?: Clock
  readonly monotonic?: Clock
  readonly crashPoint?: CrashPoint
  /** Instead of the world's own, for a process that loses it. */
  readonly log?: EventLog
  /** Where media lies: only with it workers make images. */
  readonly store?: ObjectStore
  readonly imageLimits?: Partial<ImageTaskLimits>
  readonly uploadLimits?: UploadLimits
  readonly assetLimits?: Partial<AssetLimits>
  /** Instead of what Postgres and the log say. */
  readonly lag?: LedgerLag
}

export interface Replica {
  readonly deps: TaskDeps
  readonly tasks: TaskUseCases
  readonly images: ImageTaskUseCases
  readonly assets: AssetUseCases
  readonly assetDeps: AssetDeps
  readonly startPolicies: () => void
  readonly stop: () => Promise<void>
}

export interface World {
  readonly store: TestEventStore
  readonly namespace: string
  readonly pool: Pool
  readonly log: EventLog
  readonly sandbox: Sandbox
  readonly channels: readonly Channel[]
  readonly replica: (options?: ReplicaOptions) => Replica
  /** Of uploads, as another process sees it. */
  readonly quota: (limits?: Partial<UploadLimits>) => UploadQuota
  /** Opens a further tenant with credit in both currencies. */
  readonly tenant: (tenantId: string, credit: string) => Promise<void>
  /** Waits until every read model has everything the log has. */
  readonly settle: () => Promise<void>
  readonly eventsOf: (platformId: string) => Promise<readonly AnyEvent[]>
}

export interface WorldOptions {
  readonly sandbox?: Partial<SandboxOptions>
  readonly credit?: string
  readonly logLimits?: Partial<EventLogLimits>
  /** The generation of server the event store stands in for. */
  readonly version?: ServerVersion
  readonly prices?: boolean
  /** Runs the event store as a process, which can be killed and held. */
  readonly storeProcess?: boolean
}

export async function startWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const database = await acquireGatewayDatabase()
  const store = await (options.storeProcess
    ? startEventStore(options.version === undefined ? {} : { version: options.version })
    : startLocalEventStore(options.version))
  const sandbox = await startSandbox({ queuedMs: 50, runningMs: 100, ...options.sandbox })
  const namespace = newNamespace()
  const log = createEventLog({
    url: store.url,
    namespace,
    ...(options.logLimits === undefined ? {} : { limits: options.logLimits }),
  })
  const pool = new Pool({ connectionString: database.url, max: 24, pipeline: true })
  surviveLostConnections(pool, () => undefined)
  const engine = startProjections({
    pool,
    log,
    projections: allProjections,
    clock: systemClock,
    logger: silentLog,
  })
  const replicas: Replica[] = []
  const channels = sandboxTaskChannels({ baseUrl: sandbox.url })
  t.teardown(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()))
    await engine.stop()
    await log.close()
    await pool.end()
    await sandbox.close()
    await store.stop()
    await database.drop()
  })
  const settle = async (): Promise<void> => {
    const end = (await log.endPosition()) ?? -1n
    for (const { name } of allProjections)
      if (!(await waitForPosition(pool, name, end, 120_000)))
        throw new Error(`the ${name} read model did not catch up`)
  }
  const access: AccountCommandDeps = {
    log,
    catalog,
    clock: systemClock,
    correlationId: 'test',
    actor: 'tests',
  }
  const tenant = async (tenantId: string, credit: string): Promise<void> => {
    await openTenant(access, { tenantId, name: tenantId })
    await addUser(access, { tenantId, userId: `user_of_${tenantId}`, name: 'User' })
    for (const currency of ['CNY', 'USD'] as const)
      await grantCredit(access, { tenantId, currency, amount: credit, reason: 'test' })
  }
  if (options.prices !== false)
    await publishPriceBook(
      { log, catalog, clock: systemClock },
      {
        yamlText: readFileSync(new URL('../../../infra/pricebook.yaml', import.meta.url), 'utf8'),
        demonstrations: true,
        correlationId: 'test',
        actor: 'tests',
      },
    )
  await tenant(TENANT, options.credit ?? '10000')
  await settle()
  return {
    store,
    namespace,
    pool,
    log,
    sandbox,
    channels,
    tenant,
    settle,
    quota: (limits) =>
      createUploadQuota({
        pool,
        readModels: { requireCurrent: () => Promise.resolve() },
        limits: { ...defaultUploadLimits, ...limits },
      }),
    eventsOf: (platformId) => log.readStream(taskStream(platformId)),
    replica: (given = {}) => {
      const made = makeReplica({ pool, log, channels }, given, `replica-${replicas.length}`)
      replicas.push(made)
      return made
    },
  }
}

/** A process looks so often whether its last sight of the read models is old, and an idle one has one of this age. */
const SIGHT_EVERY_MS = 1_000
const SIGHT_AGE_MS = 10_000

/** Looks at the read models as a process does beside its requests; one that never looks refuses after half a minute. */
function keepInSight({ freshness }: TaskDeps): () => void {
  const timer = setInterval(() => {
    if (freshness.lagMs() >= SIGHT_AGE_MS) void freshness.look().catch(() => undefined)
  }, SIGHT_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Has the first creations wait as a process does that starts: it serves once it has seen the read models complete. */
function onceSeen(deps: TaskDeps): TaskDeps {
  const { freshness } = deps
  const seen = seeLedger(freshness)
  const refuseBehind = async (): Promise<void> => {
    await seen
    await freshness.refuseBehind()
  }
  return { ...deps, freshness: { ...freshness, refuseBehind } }
}

/** A process of its own, as far as the gateway's parts can tell; `owner` names it in leases. */
export function makeReplica(
  world: Pick<World, 'pool' | 'log' | 'channels'>,
  options: ReplicaOptions,
  owner: string,
): Replica {
  const parts = compose({
    families,
    ownRequestsPerMinute: 60_000,
    pool: world.pool,
    log: options.log ?? world.log,
    channels: options.channels ?? world.channels,
    sandbox: true,
    markerSecret: MARKER_SECRET,
    pollRequestsPerSecond: options.perSecond ?? 200,
    clock: options.clock ?? systemClock,
    ...(options.monotonic === undefined ? {} : { monotonic: options.monotonic }),
    logger: silentLog,
    metrics: new Registry(),
    crashPoint: options.crashPoint ?? noCrash,
    store: options.store,
    ...(options.lag === undefined ? {} : { lag: options.lag }),
    ...(options.uploadLimits === undefined ? {} : { uploadLimits: options.uploadLimits }),
  })
  const deps = parts.tasks
  const imageDeps = {
    ...parts.imageTasks,
    imageLimits: { ...parts.imageTasks.imageLimits, ...options.imageLimits },
  }
  const assetDeps = {
    ...parts.assets,
    assetLimits: { ...parts.assets.assetLimits, ...options.assetLimits },
  }
  const lookAway = keepInSight(deps)
  let policies: { readonly stop: () => Promise<void> } | undefined
  const start = (): void => {
    const settings = { owner, scale: options.scale ?? 0.1 }
    policies ??= startWorker(
      deps,
      settings,
      [taskWork, assetWork],
      [
        taskPolicies(deps, settings),
        ...(options.store ? [imagePolicies(imageDeps, settings)] : []),
        assetPolicies(assetDeps, settings),
      ],
    )
  }
  if (options.policies === true) start()
  let stopping: Promise<void> | undefined
  return {
    deps,
    tasks: createTaskUseCases(options.lag === undefined ? onceSeen(deps) : deps),
    images: createImageTaskUseCases(imageDeps),
    assets: createAssetUseCases(assetDeps, assetDeps.findAssetTypes),
    assetDeps,
    startPolicies: start,
    stop: () =>
      (stopping ??= (async () => {
        lookAway()
        await policies?.stop()
        await parts.stop()
      })()),
  }
}

export function principalOf(tenantId: string = TENANT, limits?: Partial<Limits>): Principal {
  return {
    tokenId: `token_of_${tenantId}`,
    kind: 'model',
    tenantId,
    userId: `user_of_${tenantId}`,
    models: undefined,
    addresses: undefined,
    limits: limits && { ...noLimits, ...limits },
    scope: undefined,
    role: undefined,
  }
}

export interface Wish {
  readonly tenantId?: string
  readonly prompt?: string
  readonly model?: string
  readonly idempotencyKey?: string
  readonly safetyIdentifier?: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly limits?: Partial<Limits>
}

/** What the API would hand over for a body. */
export function createInput(wish: Wish = {}): CreateTaskInput {
  const body = {
    model: wish.model ?? 'domestic-video-2-0',
    content: [{ type: 'text', text: wish.prompt ?? 'a paper boat crosses a puddle' }],
    duration: 5,
    resolution: '720p',
    ...(wish.safetyIdentifier === undefined ? {} : { safety_identifier: wish.safetyIdentifier }),
    ...wish.body,
  }
  const accepted = acceptVideoARequest(body)
  return {
    principal: principalOf(wish.tenantId, wish.limits),
    family: 'video-a',
    surface: 'provA.tasks',
    requestId: newRequestId(Date.now()),
    model: accepted.model.name,
    facts: accepted.facts,
    upstreamBody: (nativeIds) => accepted.upstreamBody({ callbackUrl: undefined, nativeIds }),
    assets: taskAssetsOf(accepted.assets, 'content', accepted.projectName),
    callerMarker: accepted.safetyIdentifier,
    executionExpiresAfterS: accepted.executionExpiresAfterS,
    idempotencyKey: wish.idempotencyKey,
    bodyHash: sha256Hex(JSON.stringify(body)),
  }
}

/** What the API would hand over for a body of a family whose lists show no marker. */
export function unmarkedInput(
  prompt: string,
  { tenantId, duration = 6 }: { readonly tenantId?: string; readonly duration?: number } = {},
): CreateTaskInput {
  const body = {
    model: 'h3-video',
    content: [{ type: 'text', text: prompt }],
    duration,
    ratio: '1:1',
  }
  const accepted = acceptVideoBRequest(body)
  return {
    ...createInput(tenantId === undefined ? {} : { tenantId }),
    family: 'video-b',
    surface: 'provB.video',
    model: accepted.model.name,
    facts: accepted.facts,
    upstreamBody: () => accepted.upstreamBody({ callbackUrl: undefined, urlOf: () => '' }),
    bodyHash: sha256Hex(JSON.stringify(body)),
  }
}

export function taskKey(id: string, tenantId: string = TENANT) {
  return {
    principal: principalOf(tenantId),
    family: 'video-a' as const,
    id,
    requestId: newRequestId(Date.now()),
  }
}

/** The code of the domain error a promise is rejected with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
    throw error
  }
  return 'no error'
}

/** The sandbox’s channels, each of which waits so long for an answer. */
export function channelsWaiting(world: Pick<World, 'channels'>, timeoutMs: number) {
  return world.channels.map((channel) => ({ ...channel, timeoutMs }))
}

/** Creates a task whose outcome stays unknown and returns its platform id. */
export function uncertain(createTask: CreateTask, wish: Wish): Promise<string> {
  return uncertainOf(createTask, createInput(wish))
}

/** The same of any family. */
export async function uncertainOf(createTask: CreateTask, input: CreateTaskInput): Promise<string> {
  try {
    await createTask(input)
  } catch (error) {
    if (isDomainError(error, 'submission_uncertain')) return String(error.details['platformId'])
    throw error
  }
  throw new Error('the creation was certain')
}
