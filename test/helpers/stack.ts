import { catalog, families } from '../../src/families/index.ts'
import { catalogOf, type FamilyModule } from '../../src/families/module.ts'
import { sandboxChannels } from '../../src/app/channels/sandbox.ts'
import type { SandboxFamily } from '../../infra/sandbox/family.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { Test } from 'tap'
import type { SandboxOptions } from '../../infra/sandbox/options.ts'
import { startSandbox, type Sandbox } from '../../infra/sandbox/server.ts'
import { waitForPosition } from '../../projections/engine/wait.ts'
import { allProjections } from '../../projections/registry.ts'
import { logRedaction } from '../../src/api/kit/routes/log-lines.ts'
import {
  type AccountCommandDeps,
  addUser,
  issueToken,
  openTenant,
} from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { openDemoTenant } from '../../src/app/accounts/demo.ts'
import type { Channel } from '../../src/app/ports/provider.ts'
import { loadConfig } from '../../src/config.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import { type Role, roles } from '../../src/start/roles.ts'
import { type Gateway, startGateway } from '../../src/start/server.ts'
import {
  newNamespace,
  startEventStore,
  startLocalEventStore,
  type TestEventStore,
} from './eventstore.ts'
import { atProcessEnd } from '../run/process-end.ts'
import { acquireGatewayDatabase } from './postgres.ts'

/** Public address every host of the tests resolves to unless the test says otherwise. */
const PUBLIC_ADDRESS = '93.184.216.34'
const CATCH_UP_MS = 120_000

export interface StackOptions {
  readonly sandbox?: Partial<SandboxOptions>
  /** The event store, instead of one started for the stack; it stops with the stack all the same. */
  readonly eventStore?: TestEventStore
  /** The database, instead of one made for the stack. */
  readonly databaseUrl?: string
  /** Variables of the configuration in addition to those of the stores. */
  readonly env?: Readonly<Record<string, string>>
  /** Addresses by host name; a host that is not named here cannot be resolved. */
  readonly hosts?: Readonly<Record<string, readonly string[]>>
  /** Whether the channels count as real accounts: then demonstration prices do not apply. */
  readonly realAccounts?: boolean
  /** Changes the sandbox's channels. */
  readonly channels?: (channels: readonly Channel[]) => readonly Channel[]
  /** Further families, and the simulations of their upstreams. */
  readonly further?: {
    readonly families: readonly FamilyModule[]
    readonly sandbox: readonly SandboxFamily[]
  }
  /** Runs the event store as a process, which can be killed and held. */
  readonly storeProcess?: boolean
}

/** A tenant with credit, one user, and a token of each kind. */
export interface TestTenant {
  readonly tenantId: string
  readonly userId: string
  readonly modelToken: string
  readonly profileToken: string
  readonly queryToken: string
  readonly adminToken: string
}

/** One gateway process of the stack. */
export interface Replica {
  /** `http://host:port` without a trailing slash. */
  readonly url: string
  readonly gateway: Gateway
  readonly dataDir: string
  readonly stop: () => Promise<void>
  /** Why the process would end to be started again; empty while it would go on. */
  readonly startsAgain: readonly string[]
}

/** Stores and a clock for durations to use instead of those of the stack. */
export interface ReplicaParts {
  /** With the spool of a replica before it, which has stopped. */
  readonly dataDir?: string
  readonly eventStoreUrl?: string
  readonly databaseUrl?: string
  readonly monotonic?: Clock
  readonly markerSecret?: string
}

export interface Stack extends Replica {
  readonly demo: TestTenant
  readonly other: TestTenant
  readonly sandbox: Sandbox
  readonly eventStore: TestEventStore
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly namespace: string
  /** For acts of operators: tenants, users, credit, tokens. */
  readonly access: AccountCommandDeps
  /** The hosts that were resolved, in order. */
  readonly resolved: readonly string[]
  /** Everything logged so far, as JSON lines. */
  readonly logged: () => string
  /** A further gateway on the same stores; it stops with the stack unless stopped before. */
  readonly replica: (roles?: readonly Role[], parts?: ReplicaParts) => Promise<Replica>
  /** Waits until every read model has everything the log has. */
  readonly caughtUp: () => Promise<void>
}

/** Opens a tenant with credit in both currencies and a token of each kind. */
export async function openTestTenant(
  access: AccountCommandDeps,
  name: string,
): Promise<TestTenant> {
  const [tenantId, userId] = [`tenant_${name}`, `user_${name}`]
  await openTenant(access, { tenantId, name })
  await addUser(access, { tenantId, userId, name })
  for (const currency of ['CNY', 'USD'] as const)
    await grantCredit(access, { tenantId, currency, amount: '10000', reason: 'test' })
  const issue = async (kind: 'model' | 'profile' | 'query' | 'admin'): Promise<string> => {
    const scope = kind === 'query' ? { scope: { level: 'all_users' as const } } : {}
    const input = { tenantId, userId, kind, name: `${name} ${kind}`, ...scope }
    return (await issueToken(access, input)).secret
  }
  return {
    tenantId,
    userId,
    modelToken: await issue('model'),
    profileToken: await issue('profile'),
    queryToken: await issue('query'),
    adminToken: await issue('admin'),
  }
}

/**
 * A whole gateway over real parts, as `serve` puts it together: event store, Postgres, sandbox,
 * HTTP on a free port, with the demo tenant and a second one.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const closers: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0)) await close()
  }
  try {
    return await start(options, closers, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

/** Whether many files run in this process, one after the other (`test/run/worker.ts`). */
const oneOfMany = process.env['TEST_ORDER'] !== undefined
/** Hosts that tests name. */
const SHARED_HOSTS = {
  'hooks.example.com': [PUBLIC_ADDRESS],
  'media.example.com': [PUBLIC_ADDRESS],
  'inside.example.com': ['10.0.0.7'],
}
let shared: Promise<Stack> | undefined
let files = 0

/** For `channels`: messages name only the first few of many models, and these are the ones that tests call. */
export function chatFirst(channels: readonly Channel[]): readonly Channel[] {
  const isChat = ({ family }: Channel): boolean => family === 'chat'
  return channels.toSorted((a, b) => Number(isChat(b)) - Number(isChat(a)))
}

/**
 * The stack that the files of a process share, with two tenants of the file's own: for tests that do not restart or
 * configure it, do not count what other tenants have, and clear the faults they add. The process ends it.
 */
export async function sharedStack(t: Test): Promise<Omit<Stack, 'replica' | 'stop'>> {
  if (!oneOfMany) t.teardown(endSharedStack)
  else if (shared === undefined) atProcessEnd(endSharedStack)
  shared ??= startStack({ hosts: SHARED_HOSTS })
  const stack = await shared
  files += 1
  const demo = await openTestTenant(stack.access, `demo_${files}`)
  const other = await openTestTenant(stack.access, `other_${files}`)
  await stack.caughtUp()
  const before = stack.logged().length
  return { ...stack, demo, other, logged: () => stack.logged().slice(before) }
}

/** Ends the stack that files shared. */
async function endSharedStack(): Promise<void> {
  const stack = await shared
  shared = undefined
  await stack?.stop()
}

async function start(
  options: StackOptions,
  closers: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
): Promise<Stack> {
  const eventStore =
    options.eventStore ??
    (await (options.storeProcess ? startEventStore() : startLocalEventStore()))
  closers.unshift(() => eventStore.stop())
  const { databaseUrl } = options
  const database =
    databaseUrl === undefined
      ? await acquireGatewayDatabase()
      : { url: databaseUrl, drop: () => Promise.resolve() }
  closers.unshift(() => database.drop())
  const sandbox = await startSandbox(
    { queuedMs: 60, runningMs: 120, ...options.sandbox },
    undefined,
    options.further?.sandbox,
  )
  closers.unshift(() => sandbox.close())
  const namespace = newNamespace()
  const lines: string[] = []
  const logger = pino(
    { level: 'debug', redact: logRedaction, base: null },
    { write: (line: string) => void lines.push(line) },
  )
  const config = loadConfig({
    PORT: '0',
    EVENTSTORE_URL: eventStore.url,
    DATABASE_URL: database.url,
    EVENTSTORE_NAMESPACE: namespace,
    MARKER_SECRET: 'a marker secret of the tests alone',
    POLL_SCALE: '0.1',
    POLL_REQUESTS_PER_SECOND: '200',
    // Tests ask more often than callers do.
    OWN_REQUESTS_RPM: '60000',
    FREE_REQUESTS_RPM: '60000',
    ACCOUNT_RATE_LIMIT_RPM: '60000',
    REFUSED_FORMS_RPM: '60000',
    ...options.env,
  })
  const resolved: string[] = []
  const hosts = new Map(Object.entries(options.hosts ?? { 'hooks.example.com': [PUBLIC_ADDRESS] }))
  const served = [...families, ...(options.further?.families ?? [])]
  const ours = sandboxChannels(
    catalogOf(served),
    served.flatMap((family) => family.sandbox),
    { baseUrl: sandbox.url },
  )
  const replica = async (
    wanted: readonly Role[] = roles,
    parts: ReplicaParts = {},
  ): Promise<Replica> => {
    // Each process has a data directory of its own: its spool is there.
    const dataDir = parts.dataDir ?? (await mkdtemp(join(tmpdir(), 'tollgate-stack-')))
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const startsAgain: string[] = []
    const gateway = await startGateway({
      config: { ...config, dataDir },
      eventStoreUrl: eventStore.url,
      databaseUrl: database.url,
      markerSecret: config.markerSecret ?? '',
      ...parts,
      channels: options.channels?.(ours) ?? ours,
      sandbox: options.realAccounts !== true,
      roles: new Set(wanted),
      families: served,
      startAgain: (reason) => startsAgain.push(reason),
      logger,
      version: '0.0.0-test',
      hosts: {
        resolveHost: (host) => {
          resolved.push(host)
          const found = hosts.get(host)
          return found ? Promise.resolve(found) : Promise.reject(new Error('no such host'))
        },
        // Files that the gateway fetches are on this machine; whether an address is public is
        // checked before.
        locate: (address) => (address === PUBLIC_ADDRESS ? '127.0.0.1' : address),
      },
    })
    let stopping: Promise<void> | undefined
    const stopOnce = () => (stopping ??= gateway.stop())
    closers.unshift(stopOnce)
    gateway.markReady()
    return { url: gateway.address ?? '', gateway, dataDir, stop: stopOnce, startsAgain }
  }
  const first = await replica()
  const { gateway } = first
  const access = {
    log: gateway.log,
    catalog,
    clock: systemClock,
    correlationId: 'test',
    actor: 'tests',
  }
  const caughtUp = () => catchUp(gateway)
  const demo = await openDemoTenant(access)
  const other = await openTestTenant(access, 'other')
  await caughtUp()
  return {
    ...first,
    stop,
    demo,
    other,
    sandbox,
    eventStore,
    eventStoreUrl: eventStore.url,
    databaseUrl: database.url,
    namespace,
    access,
    resolved,
    logged: () => lines.join(''),
    replica,
    caughtUp,
  }
}

async function catchUp({ log, pool }: Gateway): Promise<void> {
  const end = (await log.endPosition()) ?? -1n
  for (const { name } of allProjections)
    if (!(await waitForPosition(pool, name, end, CATCH_UP_MS)))
      throw new Error(`the ${name} read model did not catch up`)
}
