import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { lockDirectory } from '../directory-lock.ts'
import { findBinaries } from './binaries.ts'
import { createRoot, openCluster } from './cluster.ts'
import { clusterNameOf, endOrphans } from './orphans.ts'
import { ensureDatabase, freePort, startServer, urlOf } from './server.ts'
import type { Server } from './server.ts'
import { settingsOf } from './settings.ts'

/** How long to wait for a predecessor that is ending in order. */
const LOCK_WAIT_MS = 20_000
/** A port that was free when asked for may be taken a moment later. */
const FREE_PORT_ATTEMPTS = 5

type Log = (
  level: 'info' | 'warn' | 'error' | 'fatal',
  msg: string,
  fields?: Readonly<Record<string, unknown>>,
) => void

interface StartOptions {
  /** Folder for everything of this server; created where missing. */
  readonly root: string
  /** 0 picks a free one. */
  readonly port: number
  readonly durable: boolean
  readonly maxConnections?: number
  readonly log: Log
  readonly signal: AbortSignal
}

/** The running embedded Postgres. */
interface EmbeddedPostgres extends Server {
  readonly url: string
}

const LEVELS: readonly (readonly [prefix: string, level: 'warn' | 'error' | 'fatal'])[] = [
  ['WARNING:', 'warn'],
  ['ERROR:', 'error'],
  ['FATAL:', 'error'],
  ['PANIC:', 'fatal'],
]

function logServerLine(log: Log, line: string): void {
  const level = LEVELS.find(([prefix]) => line.startsWith(prefix))?.[1] ?? 'info'
  log(level, line.replace(/^[A-Z]+:\s+/, ''), { from: 'postgres' })
}

/**
 * Starts Postgres on `root`: takes its lock, ends what a killed predecessor left, makes the cluster and the database
 * where they are missing.
 * @throws PostgresFailure, DirectoryLockedError, file system errors; the abort reason when aborted.
 */
export async function startEmbeddedPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  const { log, signal } = options
  await createRoot(options.root)
  const root = realpathSync(options.root)
  const lock = await lockDirectory(root, LOCK_WAIT_MS)
  try {
    const binaries = await findBinaries()
    const directory = join(root, 'cluster')
    await endOrphans(directory, (pids) =>
      log('warn', 'ending the server a killed process left', { pids }),
    )
    signal.throwIfAborted()
    const cluster = await openCluster(root, binaries, signal)
    if (cluster.runner.prefix.length > 0) {
      log('warn', 'postgres may pass through folders closed to its account', {
        account: cluster.runner.account?.name,
      })
    }
    const start = async (attempt: number): Promise<Server> => {
      const port = options.port === 0 ? await freePort() : options.port
      const settings = settingsOf(port, clusterNameOf(directory), options)
      try {
        return await startServer(
          cluster,
          binaries.postgres,
          port,
          settings,
          (line) => logServerLine(log, line),
          signal,
        )
      } catch (error) {
        const taken = error instanceof Error && error.message.includes('Address already in use')
        if (options.port !== 0 || !taken || attempt >= FREE_PORT_ATTEMPTS) throw error
        return start(attempt + 1)
      }
    }
    const server = await start(1)
    try {
      await ensureDatabase(cluster, server.port)
    } catch (error) {
      await server.stop()
      throw error
    }
    return {
      port: server.port,
      url: urlOf(cluster, server.port),
      ended: server.ended.then(async (how) => {
        await lock.release()
        return how
      }),
      async stop() {
        await server.stop()
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}
