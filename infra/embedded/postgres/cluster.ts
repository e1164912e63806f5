import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../../../src/platform/durable-files.ts'
import type { Binaries } from './binaries.ts'
import { chooseAccount, chooseRunner, giveTo } from './account.ts'
import type { Runner } from './account.ts'
import { PostgresFailure } from './failure.ts'
import { endInitialisers } from './orphans.ts'
import { run } from './run.ts'

/** Name of the server's superuser. */
export const SUPERUSER = 'tollgate'

const ACCESS = 'local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n'
const INIT_PREFIX = 'init-'
const PASSWORD_BYTES = 24
/** Removing retries on busy folders, each a little later than the one before (about ten seconds in all). */
const REMOVE_RETRIES = 20
const REMOVE_RETRY_MS = 50
const VERSION_TIMEOUT_MS = 10_000

/** An initialised data directory of the server and how to run programs on it. */
export interface Cluster {
  /** The folder given by the caller; holds the password, the lock and the cluster. */
  readonly root: string
  /** The server's own data directory. */
  readonly directory: string
  /** The superuser's. */
  readonly password: string
  readonly runner: Runner
}

/** Reads the password, or makes one and keeps it before the cluster that will demand it exists. */
async function passwordOf(root: string): Promise<string> {
  const file = join(root, 'password')
  try {
    const password = readFileSync(file, 'utf8').trim()
    if (password !== '') return password
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  await replaceFile(file, `${password}\n`)
  return password
}

/** The leading number of the output of `postgres --version` or of the PG_VERSION file. */
function major(text: string): string {
  return /(\d+)/.exec(text)?.[1] ?? 'unknown'
}

/** Runs a program to its end. @returns how it ended and its last lines. */
async function complete(
  runner: Runner,
  file: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<{ readonly how: string; readonly lines: readonly string[] }> {
  const program = run(runner, file, args, cwd, () => undefined)
  const kill = (): void => void program.process.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  const timer = timeoutMs === undefined ? undefined : setTimeout(kill, timeoutMs)
  const how = await program.ended
  clearTimeout(timer)
  signal.removeEventListener('abort', kill)
  signal.throwIfAborted()
  return { how, lines: program.tail() }
}

async function checkVersion(
  cluster: string,
  runner: Runner,
  binaries: Binaries,
  signal: AbortSignal,
): Promise<void> {
  let data: string
  try {
    data = major(readFileSync(join(cluster, 'PG_VERSION'), 'utf8'))
  } catch {
    throw new PostgresFailure(
      `${cluster} exists but is not a Postgres data directory; move it away`,
    )
  }
  const { how, lines } = await complete(
    runner,
    binaries.postgres,
    ['--version'],
    '/',
    signal,
    VERSION_TIMEOUT_MS,
  )
  if (how !== 'exited with status 0') {
    throw new PostgresFailure(`the Postgres program cannot run (${how}): ${lines.join('\n')}`)
  }
  const program = major(lines.join(' '))
  if (data !== program) {
    throw new PostgresFailure(
      `${cluster} was written by Postgres ${data}, this release carries Postgres ${program}; start the release that wrote it, or move the data with pg_dump`,
    )
  }
}

/**
 * Makes the cluster in a temporary folder and moves it to its place when complete: a crash leaves
 * no half-made cluster.
 */
async function initialise(
  root: string,
  directory: string,
  password: string,
  runner: Runner,
  binaries: Binaries,
  signal: AbortSignal,
  launched: () => void,
): Promise<void> {
  const workshop = await mkdtemp(join(root, INIT_PREFIX))
  const made = join(workshop, 'cluster')
  const passwordFile = join(workshop, 'password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (runner.account !== undefined) {
    await chown(passwordFile, runner.account.uid, runner.account.gid)
    await chown(workshop, runner.account.uid, runner.account.gid)
  }
  const args = [
    `--pgdata=${made}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    // More of them slow down guessing, which a random password rules out, and every connection.
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
    // One sync of the whole file system instead of one for each of a thousand files.
    ...(process.platform === 'linux' ? ['--sync-method=syncfs'] : []),
  ]
  const completed = complete(runner, binaries.initdb, args, '/', signal)
  launched()
  const { how, lines } = await completed
  if (how !== 'exited with status 0') {
    await rm(workshop, { recursive: true, force: true })
    throw new PostgresFailure(`initdb ${how}: ${lines.join('\n')}`)
  }
  await rename(made, directory)
  await syncFolder(root)
  await rm(workshop, { recursive: true, force: true })
}

/**
 * Says who may connect: every role by its password. There is the socket only; the second line is for an earlier release
 * that is started again, which listens on a port. The file is exchanged, not written: a link in
 * a folder of the account must not lead root to another file.
 */
async function writeAccess(root: string, directory: string, runner: Runner): Promise<void> {
  const file = join(root, 'pg_hba.conf')
  await writeFile(file, ACCESS, { mode: 0o600, flush: true })
  if (runner.account !== undefined) await chown(file, runner.account.uid, runner.account.gid)
  await rename(file, join(directory, 'pg_hba.conf'))
}

/**
 * Removes the remains of interrupted first starts, after ending their processes that still run
 * without a parent.
 */
async function clearWorkshops(root: string): Promise<void> {
  const workshops = readdirSync(root).filter((name) => name.startsWith(INIT_PREFIX))
  if (workshops.length === 0) return
  await endInitialisers(join(root, INIT_PREFIX))
  for (const name of workshops) {
    // A process that is just ending may still write files meanwhile.
    await rm(join(root, name), {
      recursive: true,
      force: true,
      maxRetries: REMOVE_RETRIES,
      retryDelay: REMOVE_RETRY_MS,
    })
  }
}

/**
 * Opens the cluster below `root`; creates it first if there is none, and calls `launched` while that runs.
 * @throws PostgresFailure for another major version, an account or folder that cannot be used, a
 *   failed initdb.
 */
export async function openCluster(
  root: string,
  binaries: Binaries,
  signal: AbortSignal,
  launched: () => void,
): Promise<Cluster> {
  const directory = join(root, 'cluster')
  const account = chooseAccount(directory)
  if (account !== undefined && statSync(root).uid === 0) await chmod(root, 0o711)
  const runner = await chooseRunner(account, binaries.postgres, root)
  await clearWorkshops(root)
  const password = await passwordOf(root)
  if (statSync(directory, { throwIfNoEntry: false }) === undefined) {
    await initialise(root, directory, password, runner, binaries, signal, launched)
  } else {
    await checkVersion(directory, runner, binaries, signal)
    if (account !== undefined) giveTo(account, directory)
  }
  await writeAccess(root, directory, runner)
  return { root, directory, password, runner }
}

/** Creates the folder that will hold the cluster. @throws file system errors as they are. */
export async function createRoot(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
}
