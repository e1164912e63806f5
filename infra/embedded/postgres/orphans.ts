import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { PostgresFailure } from './failure.ts'

/** Time for the orphaned server to end in order. */
const FAST_SHUTDOWN_MS = 10_000
/** Time for it to end immediately (it then recovers from its log at the next start). */
const IMMEDIATE_SHUTDOWN_MS = 5_000
/** Time for the kernel to end a killed process. */
const KILL_MS = 2_000
const POLL_MS = 50
const PS_TIMEOUT_MS = 10_000
const PS_MAX_BYTES = 16 * 1024 * 1024

interface Found {
  readonly pid: number
  readonly postmaster: boolean
}

/** The name under which the processes of the cluster in `directory` show themselves. */
export function clusterNameOf(directory: string): string {
  return `tollgate-${createHash('sha256').update(directory).digest('hex').slice(0, 12)}`
}

type CommandLine = readonly [pid: number, command: string]

/** Command lines of all processes; arguments are separated by NUL on Linux and by spaces elsewhere. */
async function commandLines(): Promise<readonly CommandLine[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-Axo', 'pid=,command='], {
      timeout: PS_TIMEOUT_MS,
      maxBuffer: PS_MAX_BYTES,
    })
    return stdout.split('\n').flatMap((line) => {
      const match = /^\s*(\d+)\s+(.*)$/.exec(line)
      return match === null ? [] : [[Number(match[1]), match[2] ?? ''] as const]
    })
  }
  const found: CommandLine[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    // One that has ended meanwhile has no command.
    found.push([Number(name), await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')])
  }
  return found
}

/**
 * Only the server processes that run on this cluster: a pid in a file may belong to another process
 * by now.
 */
async function find(directory: string): Promise<readonly Found[]> {
  const title = `postgres: ${clusterNameOf(directory)}: `
  return (await commandLines()).flatMap(([pid, command]): Found[] => {
    if (pid === process.pid) return []
    if (command.startsWith(title)) return [{ pid, postmaster: false }]
    const gap = process.platform === 'linux' ? '\0' : ' '
    const [program = ''] = command.split(gap)
    const runsHere =
      basename(program) === 'postgres' && command.includes(`${gap}-D${gap}${directory}${gap}`)
    return runsHere ? [{ pid, postmaster: true }] : []
  })
}

function signalAll(found: readonly Found[], signal: NodeJS.Signals): void {
  for (const { pid } of found) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended already, or belongs to another account; the check below finds out which.
    }
  }
}

async function goneWithin(
  directory: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const deadline = monotonicClock.nowMs() + timeoutMs
  for (;;) {
    if ((await find(directory)).length === 0) return true
    signal?.throwIfAborted()
    if (monotonicClock.nowMs() >= deadline) return false
    await sleep(POLL_MS)
  }
}

/**
 * Ends every `initdb` that a killed process left at work in a folder whose path begins with `prefix`. The helpers
 * it started end with it: their input closes.
 * @returns how many were found.
 */
export async function endInitialisers(prefix: string): Promise<number> {
  const found = (await commandLines()).filter(
    ([, command]) => command.includes('initdb') && command.includes(`--pgdata=${prefix}`),
  )
  signalAll(
    found.map(([pid]) => ({ pid, postmaster: false })),
    'SIGKILL',
  )
  return found.length
}

/** Whether the pid that a stale `postmaster.pid` names is alive, as something else. */
function namesAStranger(pidFile: string): boolean {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
    if (!Number.isSafeInteger(pid) || pid <= 0) return false
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Signals for the remaining processes, each harder than the one before, with the time that they have after it. */
const MEANS: readonly (readonly [signal: NodeJS.Signals, withinMs: number])[] = [
  ['SIGINT', FAST_SHUTDOWN_MS],
  ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ['SIGKILL', KILL_MS],
]

/** @throws PostgresFailure when they cannot be ended; the abort reason when aborted. */
async function endAll(
  directory: string,
  found: readonly Found[],
  signal: AbortSignal | undefined,
): Promise<void> {
  // Processes whose server is gone end by themselves as soon as they look up.
  const servers = found.filter(({ postmaster }) => postmaster)
  let targets: readonly Found[] = servers
  for (const [means, withinMs] of MEANS) {
    signalAll(targets, means)
    const isShort = means === 'SIGINT' && servers.length === 0
    if (await goneWithin(directory, isShort ? IMMEDIATE_SHUTDOWN_MS : withinMs, signal)) return
    targets = await find(directory)
  }
  const pids = targets.map(({ pid }) => pid)
  throw new PostgresFailure(`processes ${pids.join(', ')} use ${directory} and cannot be ended`)
}

/**
 * Ends a server that a killed process left running on `directory`. The caller holds the lock of the
 * directory, so a server that runs there has no owner.
 * @returns how many processes were found.
 * @throws PostgresFailure when it cannot be ended; the abort reason when aborted.
 */
export async function endOrphans(
  directory: string,
  onFound: (pids: readonly number[]) => void,
  signal?: AbortSignal,
): Promise<number> {
  const found = await find(directory)
  if (found.length > 0) {
    onFound(found.map(({ pid }) => pid))
    await endAll(directory, found, signal)
  }
  // After a restart of the machine or the container the pid may belong to any other program, and
  // Postgres would then refuse to start. No server of this cluster runs, so the file is stale.
  const pidFile = join(directory, 'postmaster.pid')
  if (namesAStranger(pidFile)) await rm(pidFile, { force: true })
  return found.length
}
