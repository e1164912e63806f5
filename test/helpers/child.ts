import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeArguments } from './checkout.ts'

const START_MS = 120_000
/** Maximum length of a child's error output that is kept. */
const MAX_COMPLAINTS_CHARS = 4_000

/** Message of a store once it serves. */
interface Ready {
  readonly url: string
  readonly port?: number
}

/** A child process and its message when it was ready. */
export interface Launched {
  readonly child: ChildProcess
  readonly ready: Ready
}

/** Runs a module as a child until it says `{"event":"ready",…}`. */
export async function launchChild(module: URL, args: readonly string[]): Promise<Launched> {
  const child = spawn(process.execPath, [...nodeArguments(module), ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-MAX_COMPLAINTS_CHARS)
  })
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const ready = new Promise<Ready>((resolve) => {
    lines.on('line', (line) => {
      const said = JSON.parse(line) as Ready & { readonly event: string }
      if (said.event === 'ready') resolve(said)
    })
  })
  const gone = once(child, 'exit').then(([code]): never => {
    throw new Error(`the event store ended with ${String(code)}: ${complaints}`)
  })
  gone.catch(() => undefined)
  const late = sleep(START_MS, undefined, { ref: false }).then((): never => {
    throw new Error(`the event store did not start in ${START_MS} ms: ${complaints}`)
  })
  late.catch(() => undefined)
  try {
    return { child, ready: await Promise.race([ready, gone, late]) }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

/** Replaces the faults of an event store's process; resolves once they are in effect. */
export async function replaceFaults(child: ChildProcess, spec: string): Promise<void> {
  const replaced = new Promise<void>((resolve) => {
    const heard = (message: unknown): void => {
      if (typeof message !== 'object' || message === null || !('fault' in message)) return
      child.off('message', heard)
      resolve()
    }
    child.on('message', heard)
  })
  child.send({ fault: spec })
  await replaced
}

/** Ends a child with a signal; resolves when it is gone. */
export async function endChild(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/**
 * Arguments to run a program as an operator would: `env` in front of it drops what a test runner
 * loads into every process of its own, however that one is started; the process id stays the
 * program's.
 */
export function bare(
  program: string,
  args: readonly string[],
): readonly [file: string, args: string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', program, ...args]]
}

/**
 * Variables set by the machine's owner, without ours; with the compile cache, so that a start is
 * faster.
 */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '/', NODE_COMPILE_CACHE } = process.env
  // The port has few callers, which send more requests than usual callers.
  const [OWN_REQUESTS_RPM, FREE_REQUESTS_RPM, REFUSED_FORMS_RPM] = ['6000', '6000', '6000']
  return {
    PATH,
    HOME,
    OWN_REQUESTS_RPM,
    FREE_REQUESTS_RPM,
    REFUSED_FORMS_RPM,
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
  }
}
