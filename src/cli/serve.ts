import { Pool } from 'pg'
import type { Logger } from 'pino'
import { replaceFile } from '../platform/durable-files.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { catalog } from '../families/index.ts'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import type { Channel } from '../app/ports/provider.ts'
import type { Supervised } from '../../infra/embedded/supervisor.ts'
import { PROGRAM_ACTOR } from '../app/accounts/account-commands.ts'
import { openDemoTenant } from '../app/accounts/demo.ts'
import { type Config, dataFiles } from '../config.ts'
import { systemClock } from '../kernel/clock.ts'
import { type Gateway, startGateway } from '../start/server.ts'
import { parseRoles, requireConfiguration } from './check.ts'
import { type Closer, closeInOrder } from './closing.ts'
import { exitCodes } from './exit-codes.ts'
import { firstCall } from './first-call.ts'
import { openProcessLog } from './log-output.ts'
import { markerSecretOf } from './marker-secret.ts'
import { CommandError, note } from './output.ts'
import { readIfThere } from './private-files.ts'
import { openProjector } from './projector.ts'
import {
  checkPostgres,
  removeRuntime,
  reportExposed,
  startEmbeddedStores,
  type Stores,
  writeRuntime,
} from './stores.ts'
import { openUpstreams } from './upstreams.ts'
import { startWhenStoresAnswer } from './waiting.ts'

/**
 * Past the drain bound the process ends even if something hangs. Longer than its parts may take together, which a busy
 * machine needs: calls that are cut short get 15 s to be settled, the journal 10 s to be flushed and 11 s to drain its
 * spool, leases 2 s to be freed.
 */
const STOP_MARGIN_MS = 40_000

/** Runs the gateway until a signal, or until a part of it cannot be kept running. */
export async function serve(config: Config, version: string, roleList?: string): Promise<void> {
  const { logger, lostLines } = openProcessLog(config.logLevel)
  const wanted = parseRoles(roleList)
  // Configuration errors are reported before anything is started.
  const configured = await requireConfiguration(config, wanted, (what) => logger.warn({}, what))
  const closers: Closer[] = []
  const ended = waitForEnd(logger)
  try {
    const stores = await openStoresFor(config, logger, ended.fail)
    closers.unshift({ part: 'stores', close: () => stores.close() })
    const upstreams = await openUpstreams(config, configured, logger, ended.fail)
    closers.unshift({ part: 'sandbox', close: () => upstreams.close() })
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
          channels: upstreams.channels,
          sandbox: upstreams.sandboxUrl !== undefined,
          markerSecret: await withDatabase(stores, (db) => markerSecretOf(config, db)),
          roles: new Set([...wanted].filter((role) => role !== 'projector' || !projectsApart)),
          migrates: wanted.has('projector') || config.external === undefined,
          startAgain: ended.startAgain,
          logger,
          lostLogLines: lostLines,
          version,
        })
      },
      (late) => late.stop(),
    )
    // Undefined where it was asked to end before the stores answered.
    if (gateway !== undefined) {
      closers.unshift({ part: 'gateway', close: () => gateway.stop() })
      await projector?.ready
      let demoSecret: string | undefined
      if (config.external === undefined) {
        await writeRuntime(config.dataDir, { pid: process.pid, ...urlsOf(stores) })
        closers.unshift({ part: 'runtime file', close: () => removeRuntime(config.dataDir) })
        demoSecret = await openDemo(config, gateway, upstreams.sandboxUrl)
      }
      releaseStartMemory()
      gateway.markReady()
      logger.info({ ...addressesOf(gateway), roles: [...wanted] }, 'ready')
      explain(gateway, config, upstreams.channels, demoSecret)
    }
    process.exitCode = await ended.promise
    await closeAll(closers, config, logger)
  } catch (error) {
    await closeAll(closers, config, logger)
    throw error
  }
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

function urlsOf({ eventStoreUrl, databaseUrl }: Stores): Omit<Stores, 'close'> {
  return { eventStoreUrl, databaseUrl }
}

async function openStoresFor(
  config: Config,
  logger: Logger,
  fail: (reason: string) => void,
): Promise<Stores> {
  if (config.external === undefined) return startEmbeddedStores(config, logger, fail)
  // The spool belongs to this process alone, also with an external log.
  const dataDir = await prepareDataDir(config.dataDir, reportExposed(config, logger))
  return { ...config.external, close: () => dataDir.release() }
}

/**
 * Resolves with the exit code to end with: 0 on a signal, 75 when only a new process can go on, 1 when a part cannot
 * be kept running.
 */
function waitForEnd(logger: Logger): {
  readonly promise: Promise<number>
  /** Aborts when it does. */
  readonly signal: AbortSignal
  readonly fail: (reason: string) => void
  readonly startAgain: (reason: string) => void
} {
  let end: (exitCode: number) => void = () => undefined
  const promise = new Promise<number>((resolve) => {
    end = resolve
  })
  const ending = new AbortController()
  void promise.then(() => ending.abort())
  let draining = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      // A second signal ends at once. No acknowledged event is lost by it.
      if (draining && signal !== 'SIGHUP') process.exit(exitCodes.failed)
      draining = true
      logger.info({ signal }, 'draining')
      end(exitCodes.inOrder)
    })
  const endWith = (exitCode: number, reason: string, message: string): void => {
    logger.fatal({ reason }, message)
    note(`tollgate: ${reason}`)
    end(exitCode)
  }
  const fail = (reason: string): void => endWith(exitCodes.failed, reason, 'cannot go on')
  const startAgain = (reason: string): void =>
    endWith(exitCodes.startAgain, `${reason}; start it again`, 'ends, to be started again')
  return { promise, signal: ending.signal, fail, startAgain }
}

/** Closes in the reverse order of starting. */
function closeAll(
  closers: readonly Closer[],
  { shutdownDelayMs, drainTimeoutMs }: Config,
  logger: Logger,
): Promise<void> {
  return closeInOrder(closers, {
    logger,
    withinMs: shutdownDelayMs + drainTimeoutMs + STOP_MARGIN_MS,
    giveUp: () => process.exit(exitCodes.failed),
  })
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
