import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { eventually } from '../../helpers/eventually.ts'
import { bareEnvironment } from '../../helpers/child.ts'
import { builtProduct } from '../../helpers/product.ts'

const READY_MS = 180_000
const RUN_MS = 180_000
/** A script has many commands, one after the other. */
const SCRIPT_MS = 240_000
/** Where nobody keeps a `.env` of real stores. */
export const elsewhere = tmpdir()

export type Environment = Readonly<Record<string, string>>

/** How a command ended and what it said. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Child = ChildProcessByStdio<null, Readable, Readable>

/**
 * Arguments of `env` for a program with this environment and what it needs to run at all. The
 * test runner writes itself into the environment of every child; behind `env -i` it cannot.
 */
function bare(env: Readonly<Record<string, string>>): readonly string[] {
  const entries = Object.entries({ ...bareEnvironment(), ...env })
  return ['-i', ...entries.map(([name, value]) => `${name}=${value}`)]
}

/** Starts the real command line as a process, under another account where one is given. */
export async function launch(
  args: readonly string[],
  env: Environment,
  cwd = elsewhere,
  account?: number,
): Promise<Child> {
  return spawn('env', [...bare(env), process.execPath, (await builtProduct()).main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    ...(account === undefined ? {} : { uid: account, gid: account }),
  })
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
  return text
}

/** Runs the real command line as a process of its own, to its end. */
export async function tollgateProcess(
  args: readonly string[],
  env: Environment,
  cwd?: string,
): Promise<Ended> {
  const child = await launch(args, env, cwd)
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS)
  const [stdout, stderr] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit'),
  ])
  clearTimeout(timer)
  return { code: child.exitCode, stdout, stderr }
}

/** Runs it with its output going through a shell pipeline, e.g. `| head -n 1`. */
export async function tollgateThrough(
  args: readonly string[],
  pipeline: string,
  env: Environment,
): Promise<Ended> {
  const script = `set -o pipefail; "$0" "$@" ${pipeline}`
  const command = ['bash', '-c', script, process.execPath, (await builtProduct()).main, ...args]
  const child = spawn('env', [...bare(env), ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: elsewhere,
  })
  const [stdout, stderr] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit'),
  ])
  return { code: child.exitCode, stdout, stderr }
}

/** What a shell runs as the program. */
export async function programInShell(): Promise<string> {
  return `'${process.execPath}' '${(await builtProduct()).main}' "$@"`
}

/** A script of a shell in which `tollgate` is the program, or runs this; what it says, its errors too. */
export async function shell(
  script: string,
  cwd: string,
  program?: string,
): Promise<Pick<Ended, 'code' | 'stdout'>> {
  const head = `exec 2>&1; set -e; tollgate() { ${program ?? (await programInShell())}; }`
  const child = spawn('env', [...bare({}), 'bash', '-c', `${head}\n${script}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), SCRIPT_MS)
  const [stdout] = await Promise.all([textOf(child.stdout), once(child, 'exit')])
  clearTimeout(timer)
  return { code: child.exitCode, stdout }
}

/** What `demo.json` holds. */
interface Demo {
  readonly baseUrl: string
  readonly sandboxUrl: string
  readonly modelToken: string
  readonly profileToken: string
  readonly queryToken: string
  readonly adminToken: string
  readonly tenantId: string
}

/** A `tollgate serve` that is ready. */
interface Serving {
  readonly demo: Demo
  readonly pid: number
  /** Lines on stdout so far: the log. */
  readonly log: readonly string[]
  readonly stderr: () => string
  /** Sends a signal and waits for the end; the exit code, null after a kill. */
  readonly end: (signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGUSR2') => Promise<number | null>
}

/** Starts the gateway on embedded stores and waits until it says that it is ready. */
export async function serve(
  dataDir: string,
  env: Environment = {},
  account?: number,
): Promise<Serving> {
  const defaults = { PORT: '0', SANDBOX_TIME_SCALE: '0.1', POLL_SCALE: '0.2' }
  const child = await launch(
    ['serve'],
    { DATA_DIR: dataDir, ...defaults, ...env },
    elsewhere,
    account,
  )
  const log: string[] = []
  let stderr = ''
  createInterface({ input: child.stdout }).on('line', (line) => log.push(line))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  await eventually(
    'the gateway is ready',
    () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${stderr}${log.join('\n')}`)
      return log.some((line) => line.includes('"msg":"ready"')) ? true : undefined
    },
    READY_MS,
  )
  return {
    demo: JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as Demo,
    pid: child.pid ?? -1,
    log,
    stderr: () => stderr,
    end: async (signal) => {
      child.kill(signal)
      await exited
      return child.exitCode
    },
  }
}
