import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { elsewhere, type Ended, type Environment } from './tollgate.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { bareEnvironment } from '../../helpers/child.ts'

/**
 * Commands without a process each: most of what one takes is to start and to load. A process runs one at a time, in
 * the environment it is given, and several at once take several processes, which stay for the next ones.
 */

/** What a command host is told and says. */

export interface Order {
  readonly args: readonly string[]
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** The folder it is started in. */
  readonly cwd: string
}

export interface Done {
  readonly code: number
}

/** The environment of a command on the stores of a stack. */
export function environmentOf(stack: {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly namespace: string
}) {
  return {
    EVENTSTORE_URL: stack.eventStoreUrl,
    DATABASE_URL: stack.databaseUrl,
    EVENTSTORE_NAMESPACE: stack.namespace,
    MARKER_SECRET: 'a marker secret of the tests alone',
  }
}

/** Ends what a command wrote, on either stream; no command writes it. */
export const END = '\u0000end\u0000'

const HOST = new URL('command-host.ts', import.meta.url)
const RUN_MS = 180_000

type Host = ChildProcessByStdio<null, Readable, Readable>

const idle: Host[] = []

function startHost(): Host {
  const child = spawn(process.execPath, nodeArguments(HOST), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: bareEnvironment(),
    cwd: elsewhere,
  }) as unknown as Host
  child.stdout.setEncoding('utf8')
  child.stderr.setEncoding('utf8')
  return child
}

/** What comes on a stream up to the end of the command, or of the process. */
function textOf(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (said: string): void => {
      stream.off('data', hear)
      stream.off('end', leave)
      resolve(said)
    }
    const hear = (chunk: string): void => {
      text += chunk
      if (text.endsWith(END)) end(text.slice(0, -END.length))
    }
    const leave = (): void => end(text)
    stream.on('data', hear)
    stream.on('end', leave)
  })
}

/** Whether it may keep this process from ending: only while it runs a command. */
function hold(host: Host, held: boolean): void {
  if (held) host.ref()
  else host.unref()
  for (const part of [host.stdout, host.stderr, host.channel]) {
    const handle = part as { ref?: () => void; unref?: () => void } | null | undefined
    if (held) handle?.ref?.()
    else handle?.unref?.()
  }
}

/** Runs a command of the command line to its end. */
export async function tollgate(
  args: readonly string[],
  env: Environment,
  cwd = elsewhere,
): Promise<Ended> {
  const host = idle.pop() ?? startHost()
  hold(host, true)
  const { PATH = '', HOME = '/' } = process.env
  const order: Order = { args, env: { PATH, HOME, ...env }, cwd }
  const exited = new AbortController()
  const { signal } = exited
  const done = once(host, 'message', { signal }).then(([said]) => (said as Done).code)
  const gone = once(host, 'exit', { signal }).then(([code]) => code as number | null)
  const timer = setTimeout(() => host.kill('SIGKILL'), RUN_MS)
  const texts = Promise.all([textOf(host.stdout), textOf(host.stderr)])
  host.send(order)
  const code = await Promise.race([done, gone])
  const [stdout, stderr] = await texts
  clearTimeout(timer)
  exited.abort()
  await Promise.allSettled([done, gone])
  hold(host, false)
  if (host.exitCode === null && host.signalCode === null) idle.push(host)
  return { code, stdout, stderr }
}

/** What `replay --json` printed: an event a line. */
export function printedEvents(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** Their types. */
export function typesOf(text: string): readonly string[] {
  return printedEvents(text).map(({ type }) => String(type))
}
