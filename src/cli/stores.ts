import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { superviseChild, type SupervisedChild } from '../../infra/embedded/supervisor.ts'
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

const READY_TIMEOUT_MS = 60_000

/** Starts the embedded event store and Postgres as supervised children; the data directory is ours. */
export async function startEmbeddedStores(
  config: Config,
  log: Log,
  onGiveUp: (reason: string) => void,
): Promise<Stores> {
  const dataDir = await prepareDataDir(config.dataDir)
  const children = [
    supervise('postgres', new URL('../../infra/embedded/postgres/main.ts', import.meta.url), [
      '--data',
      `${dataDir.path}/postgres`,
    ]),
    supervise('event store', new URL('../../infra/embedded/eventstore/main.ts', import.meta.url), [
      '--data',
      `${dataDir.path}/eventstore`,
    ]),
  ] as const

  function supervise(name: string, modulePath: URL, args: readonly string[]): SupervisedChild {
    return superviseChild({
      name,
      modulePath,
      args: (last) => [...args, '--port', last ? portOf(last.url) : '0'],
      onLine: (line) => forward(log, name, line),
      readyTimeoutMs: READY_TIMEOUT_MS,
      onRestart: (restart) => log.warn({ child: name, ...restart }, 'child restarts'),
      onGiveUp: (reason) => onGiveUp(`${name} keeps failing: ${reason}`),
    })
  }
  const close = async (): Promise<void> => {
    // The log first: what it still acknowledges must not outlive the read models' chance to see it.
    await Promise.all(children.map((child) => child.stop()))
    await dataDir.release()
  }
  try {
    const [postgres, eventStore] = await Promise.all(children.map((child) => child.ready))
    if (!postgres || !eventStore) throw new Error('a child said nothing')
    return { eventStoreUrl: eventStore.url, databaseUrl: postgres.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The port of a child's address, to be used again when it restarts. */
export function portOf(url: string): string {
  return new URL(url.replace(/^esdb|^postgres(ql)?/, 'http')).port
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
