import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, DatabaseError, Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import { checkout, nodeArguments } from './checkout.ts'

/** Time to wait for the shared server: it may have to be initialised first. */
const SERVER_TIMEOUT_MS = 180_000
const POLL_MS = 50
/** Whoever is still connected then is cut off. */
const LEAVE_TIMEOUT_MS = 1_000
const MAINTENANCE_TIMEOUT_MS = 120_000
const INSUFFICIENT_PRIVILEGE = '42501'
const CONNECT_TIMEOUT_MS = 60_000
const SERVER = new URL('postgres-server.ts', import.meta.url)
/** Through the log of Postgres, as otherwise, a database takes twice the processor time to make and to drop. */
const COPIED = 'strategy file_copy'

/** A database of one suite's own. End every connection to it, then drop it. */
export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

export interface AcquireOptions {
  /** Brings an empty database to the state the suite needs; it must leave no connection open. */
  readonly migrate?: (url: string) => Promise<void>
  /** Suites of a run that give the same key share one migrated template and get clones of it. */
  readonly templateKey?: string
  /** Orders text as in this language, `et` for one, and not by bytes: only of an empty database. */
  readonly icuLocale?: string
}

function explainLog(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(-10).join('\n')
  } catch {
    return ''
  }
}

/** One connection to the shared server's control socket, which first sends the address. */
function joinServer(
  socketPath: string,
): Promise<{ readonly url: string; readonly socket: Socket } | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
      if (!text.includes('\n')) return
      const { url } = JSON.parse(text) as { url: string }
      resolve({ url, socket })
    })
    socket.on('error', () => resolve(undefined))
    socket.on('close', () => resolve(undefined))
  })
}

function launch(directory: string): ChildProcess {
  const log = openSync(join(directory, 'server.log'), 'a')
  const child = spawn(process.execPath, [...nodeArguments(SERVER), directory], {
    // It outlives the test file that happened to be first.
    detached: true,
    stdio: ['ignore', log, log],
    cwd: fileURLToPath(checkout),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/' },
  })
  closeSync(log)
  child.on('error', () => undefined)
  child.unref()
  return child
}

async function sharedServer(): Promise<string> {
  const uid = process.getuid?.() ?? 0
  const key = createHash('sha256').update(SERVER.href).digest('hex').slice(0, 8)
  const directory = join(tmpdir(), `tollgate-test-postgres-${uid}-${key}`)
  mkdirSync(directory, { recursive: true, mode: 0o711 })
  if (statSync(directory).uid !== uid) throw new Error(`${directory} belongs to somebody else`)
  const deadline = Date.now() + SERVER_TIMEOUT_MS
  let child: ChildProcess | undefined
  while (Date.now() < deadline) {
    const joined = await joinServer(join(directory, 'control.sock'))
    if (joined !== undefined) {
      // The connection stays open for as long as this process lives, without keeping it alive.
      joined.socket.unref()
      return joined.url
    }
    // A server that lost the race for the directory has exited; the winner may also be an old one
    // that is just ending.
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      child = launch(directory)
    await sleep(POLL_MS)
  }
  throw new Error(`no Postgres for the tests:\n${explainLog(join(directory, 'server.log'))}`)
}

let server: Promise<string> | undefined

/** The address of a database server for tests: `TEST_DATABASE_URL`, otherwise the shared embedded one. */
export function testServerUrl(): Promise<string> {
  const given = process.env['TEST_DATABASE_URL']
  if (given !== undefined && given !== '') return Promise.resolve(given)
  server ??= sharedServer()
  return server
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Makes the template once; the other processes of the run wait on an advisory lock. */
async function templateOf(
  admin: Client,
  serverUrl: string,
  name: string,
  migrate: (url: string) => Promise<void>,
): Promise<void> {
  await admin.query('select pg_advisory_lock(hashtext($1))', [name])
  try {
    const found = await admin.query('select 1 from pg_database where datname = $1', [name])
    if (found.rowCount !== 0) return
    const unfinished = `${name}_unfinished`
    await admin.query(`drop database if exists ${unfinished} with (force)`)
    await admin.query(`create database ${unfinished}`)
    await migrate(urlOf(serverUrl, unfinished))
    await admin.query(`alter database ${unfinished} rename to ${name}`)
  } finally {
    await admin.query('select pg_advisory_unlock(hashtext($1))', [name])
  }
}

/** A pool has ended before its connections have: one that is cut off then would be an error that nobody hears. */
async function whenLeft(admin: Client, name: string): Promise<void> {
  const deadline = Date.now() + LEAVE_TIMEOUT_MS
  while (Date.now() < deadline) {
    const { rowCount } = await admin.query('select 1 from pg_stat_activity where datname = $1', [
      name,
    ])
    if (rowCount === 0) return
    await sleep(POLL_MS)
  }
}

/** Ends the connections that are left. That is refused for as long as Postgres' own maintenance has one. */
async function dropDatabase(admin: Client, name: string): Promise<void> {
  const deadline = Date.now() + MAINTENANCE_TIMEOUT_MS
  for (;;) {
    try {
      await admin.query(`drop database if exists ${name} with (force)`)
      return
    } catch (error) {
      const isRefused = error instanceof DatabaseError && error.code === INSUFFICIENT_PRIVILEGE
      if (!isRefused || Date.now() >= deadline) throw error
      await sleep(POLL_MS)
    }
  }
}

/** Gives a suite a database of its own, empty, migrated, or cloned from a migrated template. */
export async function acquireDatabase(options: AcquireOptions = {}): Promise<TestDatabase> {
  const { migrate, templateKey, icuLocale } = options
  const serverUrl = await testServerUrl()
  const name = `t_${randomBytes(8).toString('hex')}`
  const url = urlOf(serverUrl, name)
  // On somebody's lasting server no template may stay behind, so every suite migrates there.
  const lasting = (process.env['TEST_DATABASE_URL'] ?? '') !== ''
  const cloned = migrate !== undefined && templateKey !== undefined && !lasting
  await withClient(serverUrl, async (admin) => {
    if (!cloned) {
      const order =
        icuLocale === undefined
          ? ''
          : `template template0 encoding 'UTF8' locale 'C' locale_provider icu icu_locale '${icuLocale}'`
      await admin.query(`create database ${name} ${order} ${lasting ? '' : COPIED}`)
      return
    }
    // The files of a run have one parent. The next run migrates anew: the migrations may have changed by then.
    const key = createHash('sha256')
      .update(`${process.ppid} ${templateKey}`)
      .digest('hex')
      .slice(0, 24)
    await templateOf(admin, serverUrl, `template_${key}`, migrate)
    await admin.query(`create database ${name} template template_${key} ${COPIED}`)
  })
  if (migrate !== undefined && !cloned) await migrate(url)
  return {
    url,
    drop: () =>
      withClient(serverUrl, async (admin) => {
        await whenLeft(admin, name)
        await dropDatabase(admin, name)
      }),
  }
}

/** A database as a gateway finds it at every start but its first: the migrations ran once for all. */
export function acquireGatewayDatabase(): Promise<TestDatabase> {
  return acquireDatabase({
    templateKey: 'gateway',
    migrate: async (url) => {
      const pool = new Pool({ connectionString: url })
      try {
        await migrateEngine(pool, allProjections)
        await migrateOps(pool)
      } finally {
        await pool.end()
      }
    },
  })
}
