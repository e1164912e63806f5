import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { PostgresFailure } from './failure.ts'
import { ENVIRONMENT, run } from './run.ts'
import type { Program } from './run.ts'
import { asArguments } from './settings.ts'
import type { Settings } from './settings.ts'
import { owned } from '../../../src/platform/owned.ts'

/** Longest start: a crash recovery reads up to `max_wal_size` of log. */
export const START_TIMEOUT_MS = 120_000
/** Maximum duration of a fast shutdown (it ends with a checkpoint). */
const FAST_SHUTDOWN_MS = 12_000
/** Maximum duration of an immediate shutdown. */
const IMMEDIATE_SHUTDOWN_MS = 3_000

const READY = 'database system is ready to accept connections'

/** A running server. */
export interface Server {
  /** Resolves when it ended, with how and its last lines. */
  readonly ended: Promise<string>
  /** Fast shutdown, bounded; harder means after that. Resolves when it is gone. */
  stop(): Promise<void>
  /** Ends the server at once. Its sessions notice, and the next start waits for them. */
  kill(): void
}

/** Seconds in which a server that has just begun writes its pid file. */
const PID_FILE_S = 10

/**
 * Ends a server whose pid its own file names, so that it can never hit a stranger that inherited the number; looks
 * each second, and has the same means and bounds as `stop`.
 */
const GUARD = `read -r _
asked=0 missing=0
while kill -0 "$1"; do
  if read -r p < "$2" && [ "$p" = "$1" ]; then
    case $asked in
      0) kill -INT "$1" ;;
      ${FAST_SHUTDOWN_MS / 1_000}) kill -QUIT "$1" ;;
      ${(FAST_SHUTDOWN_MS + IMMEDIATE_SHUTDOWN_MS) / 1_000}) exec kill -KILL "$1" ;;
    esac
    asked=$((asked + 1))
  else
    missing=$((missing + 1))
    [ $missing -gt ${PID_FILE_S} ] && exit
  fi
  sleep 1
done`

/**
 * Becomes the server once it has read a line: its guard runs by then. When this process is killed earlier, the input
 * closes, and no server starts.
 */
const UNTIL_GUARDED = 'read -r _ && exec "$@" < /dev/null'

/** A shell that ends the server in order when this process is killed: its input closes then, by the kernel. */
function watchOver(pid: number, directory: string): () => void {
  const guard = spawn(
    '/bin/sh',
    ['-c', GUARD, 'sh', String(pid), join(directory, 'postmaster.pid')],
    {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: ENVIRONMENT,
    },
  )
  owned(guard)
  owned(guard.stdin)
  guard.unref()
  return () => void guard.kill('SIGKILL')
}

/** Starts the server under a guard, so that at no moment one runs that nothing would end. */
function runGuarded(
  cluster: Cluster,
  postgres: string,
  args: readonly string[],
  onLine: (line: string) => void,
): Program {
  const prefix = ['/bin/sh', '-c', UNTIL_GUARDED, 'sh', ...cluster.runner.prefix]
  const program = run({ ...cluster.runner, prefix }, postgres, args, '/', onLine, 'pipe')
  const { pid, stdin } = program.process
  if (pid === undefined) return program
  const release = watchOver(pid, cluster.directory)
  stdin?.end('\n')
  return { ...program, ended: program.ended.finally(release) }
}

async function endedWithin(program: Program, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  const ended = await Promise.race([program.ended.then(() => true), timeout])
  clearTimeout(timer)
  return ended
}

async function stop(program: Program): Promise<void> {
  program.process.kill('SIGINT')
  if (await endedWithin(program, FAST_SHUTDOWN_MS)) return
  program.process.kill('SIGQUIT')
  if (await endedWithin(program, IMMEDIATE_SHUTDOWN_MS)) return
  program.process.kill('SIGKILL')
  await program.ended
}

/**
 * Starts the server and waits until it accepts connections.
 * @param onLine each line of its log.
 * @throws PostgresFailure with its last lines when it ends or takes too long; the abort reason when aborted.
 */
export async function startServer(
  cluster: Cluster,
  postgres: string,
  settings: Settings,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<Server> {
  let ready: () => void
  const accepting = new Promise<'ready'>((resolve) => {
    ready = () => resolve('ready')
  })
  const args = ['-D', cluster.directory, ...asArguments(settings)]
  const program = runGuarded(cluster, postgres, args, (line) => {
    onLine(line)
    if (line.includes(READY)) ready()
  })
  const ended = program.ended.then((how) => [`postgres ${how}`, ...program.tail()].join('\n'))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, START_TIMEOUT_MS, 'late')
  })
  const aborted = new Promise<'aborted'>((resolve) => {
    signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
  const outcome = await Promise.race([accepting, late, aborted, ended.then(() => 'ended' as const)])
  clearTimeout(timer)
  if (outcome === 'ready')
    return { ended, stop: () => stop(program), kill: () => void program.process.kill('SIGKILL') }
  if (outcome !== 'ended') await stop(program)
  signal.throwIfAborted()
  if (outcome === 'late') {
    throw new PostgresFailure(`postgres did not accept connections within ${START_TIMEOUT_MS} ms`)
  }
  throw new PostgresFailure(await ended)
}
