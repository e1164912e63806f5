import { tmpdir } from 'node:os'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** Processes a benchmark runs beside itself. All are ended with the benchmark. */

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 45_000
/** Lines of a process kept to explain why it failed. */
const MAX_LINES = 40

/** A running process. */
export interface Running {
  readonly pid: number
  readonly stop: () => Promise<void>
}

export interface StartOptions {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whether it makes load: it stays in the session of the benchmark, with the generators. */
  readonly makesLoad?: boolean
  /** Resolves true once it can be used. */
  readonly isReady: (said: readonly string[]) => Promise<boolean> | boolean
}

const running = new Set<number>()
process.on('exit', () => {
  for (const pid of running)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It is gone already.
    }
})
// No signal of the terminal reaches the other sessions.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => process.exit(130))

/** Starts a Node process and waits until it is ready. @throws with what it said when it ends first */
export async function start(options: StartOptions): Promise<Running> {
  const said: string[] = []
  const child = spawn(process.execPath, [...options.args], {
    env: { ...process.env, ...options.env },
    // Where nobody keeps a `.env` of real stores.
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session is a scheduling group: what is measured shares its processor time with nothing that makes load.
    detached: options.makesLoad !== true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${options.name} could not be started`)
  running.add(pid)
  let ended = false
  const gone = new Promise<void>((resolve) =>
    child.once('exit', () => {
      ended = true
      running.delete(pid)
      resolve()
    }),
  )
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => {
      said.push(line.slice(0, 1_000))
      if (said.length > MAX_LINES) said.shift()
    })
  const stop = async (): Promise<void> => {
    if (ended) return
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await gone
    clearTimeout(timer)
  }
  const untilMs = performance.now() + START_TIMEOUT_MS
  while (!(await options.isReady(said))) {
    if (ended || performance.now() > untilMs) {
      await stop()
      throw new Error(`${options.name} did not become ready:\n${said.join('\n')}`)
    }
    await sleep(50)
  }
  return { pid, stop }
}

/** The URL in the `{"url":…}` line a process prints when it is ready. */
export function saidUrl(said: readonly string[]): string | undefined {
  for (const line of said) {
    const found = /"url":"(http:[^"]+)"/.exec(line)
    if (found?.[1] !== undefined) return found[1]
  }
  return undefined
}

/** Starts a process that prints its URL. */
export async function startWithUrl(
  options: Omit<StartOptions, 'isReady'>,
): Promise<Running & { readonly url: string }> {
  let url: string | undefined
  const process = await start({
    ...options,
    isReady: (said) => {
      url = saidUrl(said)
      return url !== undefined
    },
  })
  return { ...process, url: url ?? '' }
}

/** Runs a Node script to its end and reads the JSON it prints. */
export async function runForJson(args: readonly string[], stdin = ''): Promise<unknown> {
  const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid !== undefined) running.add(pid)
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err = `${texts.err}${text}`.slice(-4_000)
  })
  child.stdin.end(stdin)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (pid !== undefined) running.delete(pid)
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}:\n${texts.err}`)
  return JSON.parse(texts.out)
}

/** Resident memory of a process in MiB; 0 once it is gone. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}

/** Process ids of everything below a process. */
export async function descendants(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  )
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number))
  const deeper = await Promise.all(children.map(descendants))
  return [...children, ...deeper.flat()]
}

/** Memory seen while something was measured, in MiB. */
export interface MemoryWatch {
  /** Most of the process itself, and of all its children together (shared pages counted in each). */
  readonly end: () => Promise<{ readonly peakMib: number; readonly childrenMib: number }>
}

const MEMORY_INTERVAL_MS = 100

/** Watches a process from now on. */
export function watchMemory(pid: number): MemoryWatch {
  let peakMib = 0
  let childrenMib = 0
  const look = async (): Promise<void> => {
    peakMib = Math.max(peakMib, await residentMib(pid))
  }
  const timer = setInterval(() => void look(), MEMORY_INTERVAL_MS)
  return {
    end: async () => {
      clearInterval(timer)
      await look()
      for (const child of await descendants(pid)) childrenMib += await residentMib(child)
      return { peakMib, childrenMib }
    },
  }
}

/** The most resident memory that a process has had, in MiB; 0 once it has ended. */
export function peakMib(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024
  } catch {
    return 0
  }
}
