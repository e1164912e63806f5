import { ftruncateSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Client } from 'pg'
import { DirectoryLockedError, lockDirectory } from '../../infra/embedded/directory-lock.ts'
import { endOrphans } from '../../infra/embedded/postgres/orphans.ts'
import { startEmbeddedPostgres } from '../../infra/embedded/postgres/start.ts'

/**
 * The Postgres that the test files of a run share: `postgres-server.ts DIR`. An open connection to `DIR/control.sock`
 * is a use of it (the kernel ends it with the process that holds it); without any for a while it removes itself.
 */

/** Time for which the server stays up without a user. */
const IDLE_MS = 20_000
/** Many test files at once, of which some have several gateways. */
const MAX_CONNECTIONS = 400

const directory = process.argv[2] ?? ''
const idleMs = Number(process.argv[3] ?? IDLE_MS)
const root = join(directory, 'pg')

function log(level: string, msg: string, fields: Readonly<Record<string, unknown>> = {}): void {
  process.stderr.write(
    `${JSON.stringify({ at: new Date().toISOString(), level, msg, ...fields })}\n`,
  )
}

async function main(): Promise<void> {
  const lock = await lockDirectory(directory)
  ftruncateSync(process.stderr.fd)
  // Data of a killed server is worthless: every suite makes its own databases.
  await endOrphans(join(root, 'cluster'), (pids) => log('warn', 'ending orphans', { pids }))
  await rm(root, { recursive: true, force: true })
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stopping.abort(new Error(signal)))
  }
  const postgres = await startEmbeddedPostgres({
    root,
    durable: false,
    maxConnections: MAX_CONNECTIONS,
    log,
    signal: stopping.signal,
  })

  // Rights that tests need and the product's role does not have: to create databases, and to change
  // any row.
  const superuser = new Client({ connectionString: postgres.superuserUrl })
  await superuser.connect()
  await superuser.query('alter role gateway createdb')
  await superuser.query('grant set on parameter session_replication_role to gateway')
  await superuser.end()

  const users = new Set<Socket>()
  const unused = new Promise<string>((resolve) => {
    const socketPath = join(directory, 'control.sock')
    let timer: NodeJS.Timeout
    const server = createServer((socket) => {
      clearTimeout(timer)
      users.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        users.delete(socket)
        if (users.size === 0) timer = setTimeout(close, idleMs)
      })
      socket.write(`${JSON.stringify({ url: postgres.url })}\n`)
      socket.resume()
    })
    // Closing the listener first: whoever comes after that starts the next server.
    const close = (): void => {
      server.close(() => resolve('unused'))
    }
    timer = setTimeout(close, idleMs)
    void rm(socketPath, { force: true }).then(() => server.listen(socketPath))
    stopping.signal.addEventListener('abort', () => resolve('signal'))
  })
  log('info', 'ended', { why: await Promise.race([unused, postgres.ended]) })
  await postgres.stop()
  await rm(root, { recursive: true, force: true })
  await lock.release()
}

try {
  await main()
  process.exit(0)
} catch (error) {
  // Another process was faster: its server is as good.
  if (error instanceof DirectoryLockedError) process.exit(0)
  log('fatal', error instanceof Error ? error.message : String(error))
  process.exit(1)
}
