import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { superviseEventStore } from '../../infra/embedded/eventstore/supervised.ts'
import { supervisePostgres } from '../../infra/embedded/postgres/supervised.ts'
import { dataFiles, type Config } from '../config.ts'
import type { Log } from '../kernel/log.ts'

/** Where the log and Postgres are, and how to let go of them. */
export interface Stores {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly close: () => Promise<void>
}

/** What a running gateway says of itself to other commands on the same machine, mode 0600. */
interface Runtime {
  readonly pid: number
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly sandboxUrl?: string | undefined
}

/** Starts the embedded event store and Postgres as supervised children; the data directory is ours. */
export async function startEmbeddedStores(
  config: Config,
  log: Log,
  onGiveUp: (reason: string) => void,
): Promise<Stores> {
  const dataDir = await prepareDataDir(config.dataDir)
  const watch = (child: string) => ({
    onLine: (line: string) => forward(log, child, line),
    onRestart: (restart: object) => log.warn({ child, ...restart }, 'child restarts'),
    onGiveUp: (reason: string) => onGiveUp(`${child} keeps failing: ${reason}`),
  })
  const postgres = supervisePostgres({
    root: join(dataDir.path, 'postgres'),
    ...watch('postgres'),
  })
  const eventStore = superviseEventStore({
    root: join(dataDir.path, 'eventstore'),
    ...watch('event store'),
  })
  const close = async (): Promise<void> => {
    await Promise.all([postgres.stop(), eventStore.stop()])
    await dataDir.release()
  }
  try {
    const [database, events] = await Promise.all([postgres.ready, eventStore.ready])
    return { eventStoreUrl: events.url, databaseUrl: database.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A child's log line, JSON by convention, under its own name in ours. */
export function forward(log: Log, child: string, line: string): void {
  let fields: { readonly level?: unknown; readonly msg?: unknown } = {}
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) fields = value
  } catch {
    log.warn({ child, line }, 'child said')
    return
  }
  const { level, msg, ...rest } = fields
  const message = typeof msg === 'string' ? msg : 'child said'
  if (level === 'error' || level === 'fatal') log.error({ child, ...rest }, message)
  else if (level === 'warn') log.warn({ child, ...rest }, message)
  else if (level === 'debug') log.debug({ child, ...rest }, message)
  else log.info({ child, ...rest }, message)
}

/**
 * The stores for a command beside `serve`: the configured ones, else those of the gateway running on
 * this data directory, else embedded ones started for the command.
 */
export async function openStores(config: Config, log: Log): Promise<Stores> {
  if (config.external) return { ...config.external, close: () => Promise.resolve() }
  const running = await readRuntime(config.dataDir)
  if (running) return { ...running, close: () => Promise.resolve() }
  return startEmbeddedStores(config, log, (reason) =>
    log.error({ reason }, 'embedded store failed'),
  )
}

/** Says where the stores of this running gateway are. */
export async function writeRuntime(dataDir: string, runtime: Runtime): Promise<void> {
  const { runtime: path } = dataFiles(dataDir)
  await writeFile(`${path}.new`, `${JSON.stringify(runtime, undefined, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export async function removeRuntime(dataDir: string): Promise<void> {
  await rm(dataFiles(dataDir).runtime, { force: true })
}

/** Undefined when no gateway runs on this data directory; a file left by a killed one is stale. */
async function readRuntime(dataDir: string): Promise<Runtime | undefined> {
  try {
    const runtime = JSON.parse(await readFile(dataFiles(dataDir).runtime, 'utf8')) as Runtime
    process.kill(runtime.pid, 0)
    return runtime
  } catch {
    return undefined
  }
}
