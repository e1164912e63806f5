import { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Supervised } from '../../infra/embedded/supervisor.ts'
import { PROGRAM_ACTOR } from '../app/accounts/account-commands.ts'
import { openDemoTenant } from '../app/accounts/demo.ts'
import type { Channel } from '../app/ports/provider.ts'
import { type Config, dataFiles } from '../config.ts'
import { catalog } from '../families/index.ts'
import { systemClock } from '../kernel/clock.ts'
import { replaceFile } from '../platform/durable-files.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import type { Role } from '../start/roles.ts'
import { type Gateway, startGateway } from '../start/server.ts'
import type { Closer, Ending } from './closing.ts'
import { firstCall } from './first-call.ts'
import { markerSecretOf } from './marker-secret.ts'
import { CommandError, note } from './output.ts'
import { readIfThere } from './private-files.ts'
import { openProjector } from './projector.ts'
import { checkPostgres, removeRuntime, type Stores, writeRuntime } from './stores.ts'
import { channelsOfSandbox } from './upstreams.ts'
import { startWhenStoresAnswer } from './waiting.ts'

/** The gateway of a process whose stores have begun: its code is most of what a start loads. */

interface Serving {
  readonly config: Config
  readonly wanted: ReadonlySet<Role>
  readonly stores: Omit<Stores, 'close'>
  /** Accounts that calls are sent to; undefined: those of the sandbox. */
  readonly configured: readonly Channel[] | undefined
  readonly sandboxUrl: string | undefined
  readonly ended: Ending
  readonly logger: Logger
  readonly lostLines: () => number
  readonly version: string
  /** Gets the parts that are started, the last first. */
  readonly closers: Closer[]
}

/** Starts the gateway, and returns once it is ready, or was asked to end first. */
export async function runGateway(serving: Serving): Promise<void> {
  const { config, wanted, stores, sandboxUrl, ended, logger, version, closers } = serving
  const channels = serving.configured ?? channelsOfSandbox(sandboxUrl ?? '')
  const projectsApart = wanted.size > 1 && wanted.has('projector')
  let projector: Supervised | undefined
  closers.unshift({ part: 'projector', close: async () => projector?.stop() })
  const gateway = await startWhenStoresAnswer(
    { config, logger, listens: wanted.has('api'), ended: ended.signal },
    async (attempt) => {
      if (config.external !== undefined) await checkPostgres(config.external.databaseUrl)
      return startGateway({
        ...attempt,
        ...stores,
        storesAnswered: () => {
          attempt.storesAnswered()
          // Before it listens, the gateway waits until the ledger has what the log has. A gateway
          // that was asked to stop meanwhile is already closed.
          if (projectsApart && !ended.signal.aborted)
            projector ??= openProjector(config, stores, logger, ended.fail)
        },
        channels,
        sandbox: sandboxUrl !== undefined,
        markerSecret: await withDatabase(stores, (db) => markerSecretOf(config, db)),
        roles: new Set([...wanted].filter((role) => role !== 'projector' || !projectsApart)),
        migrates: wanted.has('projector') || config.external === undefined,
        startAgain: ended.startAgain,
        logger,
        lostLogLines: serving.lostLines,
        version,
      })
    },
    (late) => late.stop(),
  )
  // Undefined where it was asked to end before the stores answered.
  if (gateway === undefined) return
  closers.unshift({ part: 'gateway', close: () => gateway.stop() })
  await projector?.ready
  let demoSecret: string | undefined
  if (config.external === undefined) {
    await writeRuntime(config.dataDir, { pid: process.pid, ...urlsOf(stores) })
    closers.unshift({ part: 'runtime file', close: () => removeRuntime(config.dataDir) })
    demoSecret = await openDemo(config, gateway, sandboxUrl)
  }
  releaseStartMemory()
  gateway.markReady()
  logger.info({ ...addressesOf(gateway), roles: [...wanted] }, 'ready')
  explain(gateway, config, channels, demoSecret)
}

function addressesOf({ address, operationsAddress }: Gateway) {
  return { address, operationsAddress }
}

/** A look into the database before the gateway has its own connections. */
async function withDatabase<T>(
  { databaseUrl }: Pick<Stores, 'databaseUrl'>,
  look: (db: Pool) => Promise<T>,
): Promise<T> {
  const pool = new Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined)
  try {
    return await look(pool)
  } finally {
    await pool.end()
  }
}

function urlsOf({ eventStoreUrl, databaseUrl }: Omit<Stores, 'close'>) {
  return { eventStoreUrl, databaseUrl }
}

/** @throws CommandError for a file whose tokens may still be needed */
function parseDemo(path: string, text: string | undefined): object | undefined {
  if (text === undefined || text.trim() === '') return undefined
  try {
    const demo: unknown = JSON.parse(text)
    if (typeof demo === 'object' && demo !== null) return demo
  } catch {
    // Reported below, without its content.
  }
  throw new CommandError(`${path} is not JSON: correct it, or remove it to get new demo tokens`)
}

/**
 * On the first start of the embedded default: a tenant with credit, and its tokens in a file. Returns the
 * secret of its admin token, if the file has one.
 */
async function openDemo(
  config: Config,
  gateway: Gateway,
  sandboxUrl: string | undefined,
): Promise<string | undefined> {
  const { demo: path } = dataFiles(config.dataDir)
  const before = await readIfThere(path)
  const known = parseDemo(path, before)
  // Nothing else has these tokens: the file is written again only where an address has changed.
  const keep = async (demo: object): Promise<void> => {
    const text = `${JSON.stringify(demo, undefined, 2)}\n`
    if (text !== before) await replaceFile(path, text)
  }
  const addresses = { baseUrl: gateway.address, ...(sandboxUrl ? { sandboxUrl } : {}) }
  if (known !== undefined) {
    // Addresses are those of this start; without a sandbox there is none.
    const kept = Object.entries(known).filter(([name]) => name !== 'sandboxUrl')
    await keep({ ...addresses, ...Object.fromEntries(kept), baseUrl: gateway.address })
    const adminToken: unknown = Reflect.get(known, 'adminToken')
    return typeof adminToken === 'string' ? adminToken : undefined
  }
  const { tenantId, modelToken, profileToken, queryToken, adminToken } = await openDemoTenant({
    log: gateway.log,
    catalog,
    clock: systemClock,
    correlationId: 'first-start',
    actor: PROGRAM_ACTOR,
  })
  await keep({ ...addresses, modelToken, profileToken, queryToken, adminToken, tenantId })
  return adminToken
}

function explain(
  { address, entryLink }: Pick<Gateway, 'address' | 'entryLink'>,
  config: Config,
  channels: readonly Channel[],
  demoSecret: string | undefined,
): void {
  if (address === undefined) return
  const link = demoSecret && entryLink?.(demoSecret)
  const { demo } = dataFiles(config.dataDir)
  const call = firstCall(catalog, channels, address)
  note(
    [
      '',
      `Tollgate is ready at ${address}; API docs at ${address}/docs`,
      ...(link === undefined
        ? []
        : ['Open the console with this link, once and within five minutes:', '', `  ${link}`, '']),
      ...(config.external
        ? []
        : [
            `Tokens of the demo tenant are in ${demo}. A first call:`,
            '',
            `  TOKEN=$(node -p "require('${demo}').modelToken")`,
            ...(call ?? ['# The channel file has no model of text, images, speech or video.']).map(
              (line) => `  ${line}`,
            ),
          ]),
      '',
    ].join('\n'),
  )
}
