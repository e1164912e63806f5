import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { lockDirectory } from '../directory-lock.ts'
import { ACCOUNTS } from './account.ts'
import { findBinaries } from './binaries.ts'
import { createRoot, openCluster } from './cluster.ts'
import { openSocketFolder } from '../socket-folder.ts'
import { isAnswering, prepareDatabase, urlOf } from './database.ts'
import { clusterNameOf, endOrphans } from './orphans.ts'
import { startServer } from './server.ts'
import type { Server } from './server.ts'
import { settingsOf, SOCKET_NAME } from './settings.ts'

/** Time to wait for a predecessor that is ending in order. */
const LOCK_WAIT_MS = 20_000

/** A line of the server's log, or of its start. */
export type PostgresLog = (
  level: 'info' | 'warn' | 'error' | 'fatal',
  msg: string,
  fields?: Readonly<Record<string, unknown>>,
) => void

interface StartOptions {
  /** Folder for everything of this server; created where missing. */
  readonly root: string
  readonly durable: boolean
  readonly maxConnections?: number
  readonly log: PostgresLog
  /** Called, perhaps again, while a program of Postgres works: this process may do something long meanwhile. */
  readonly launched?: (() => void) | undefined
  readonly signal: AbortSignal
}

/** The running embedded Postgres. */
interface EmbeddedPostgres extends Server {
  /** URL for the role that owns the database, and has no rights outside of it. */
  readonly url: string
  readonly superuserUrl: string
  /** Whether it answers a new connection. */
  readonly isAnswering: () => Promise<boolean>
}

const LEVELS: readonly (readonly [prefix: string, level: 'warn' | 'error' | 'fatal'])[] = [
  ['WARNING:', 'warn'],
  ['ERROR:', 'error'],
  ['FATAL:', 'error'],
  ['PANIC:', 'fatal'],
]

function logServerLine(log: PostgresLog, line: string): void {
  const level = LEVELS.find(([prefix]) => line.startsWith(prefix))?.[1] ?? 'info'
  log(level, line.replace(/^[A-Z]+:\s+/, ''), { from: 'postgres' })
}

/**
 * Starts Postgres on `root`: takes its lock, ends remaining processes of a killed predecessor, and
 * creates the cluster, the database and its role if they are missing.
 * @throws PostgresFailure, DirectoryLockedError, file system errors; the abort reason when aborted.
 */
export async function startEmbeddedPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  const { log, signal, launched = () => undefined } = options
  await createRoot(options.root)
  const root = realpathSync(options.root)
  const lock = await lockDirectory(root, LOCK_WAIT_MS, signal)
  try {
    const binaries = await findBinaries()
    const directory = join(root, 'cluster')
    await endOrphans(
      directory,
      (pids) => log('warn', 'ending the server a killed process left', { pids }),
      signal,
    )
    signal.throwIfAborted()
    const cluster = await openCluster(root, binaries, signal, launched)
    const { account } = cluster.runner
    if (account?.shared === true) {
      log(
        'warn',
        `postgres runs as ${account.name}, an account that other programs may use too: one of them could read the data; create an account named ${ACCOUNTS[0]} (useradd --system ${ACCOUNTS[0]}) and start again`,
      )
    }
    if (cluster.runner.prefix.length > 0) {
      log('warn', 'postgres may pass through folders closed to its account', {
        account: account?.name,
      })
    }
    const folder = await openSocketFolder(root, SOCKET_NAME, cluster.runner.account)
    const server = await startServer(
      cluster,
      binaries.postgres,
      settingsOf(folder, clusterNameOf(directory), options),
      (line) => {
        launched()
        logServerLine(log, line)
      },
      signal,
    )
    // Without its server, what is being prepared fails.
    const stop = (): void => void server.stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await prepareDatabase(cluster, folder)
      signal.throwIfAborted()
    } catch (error) {
      await server.stop()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
    return {
      url: urlOf(cluster, folder, 'gateway'),
      superuserUrl: urlOf(cluster, folder, 'superuser'),
      isAnswering: () => isAnswering(join(folder, SOCKET_NAME)),
      ended: server.ended.then(async (how) => {
        await lock.release()
        return how
      }),
      async stop() {
        await server.stop()
        await lock.release()
      },
      kill: () => server.kill(),
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}
