import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { removeFolder } from '../../helpers/remove-folder.ts'
import { type Environment, launch } from './tollgate.ts'

/** Longer than the longest pause between two attempts, on a busy machine. */
const SERVES_MS = 180_000

type Line = Readonly<Record<string, unknown>>

/** A `tollgate serve` that waits for the stores of this test. */
export interface Starting {
  /** Lines that it logged so far. */
  readonly lines: readonly Line[]
  /** The first line with this message. */
  readonly logs: (msg: string | RegExp) => Promise<Line>
  /** Ends it in order, unless another signal is given; its exit code. */
  readonly stop: (signal?: 'SIGTERM' | 'SIGKILL') => Promise<unknown>
}

/** Starts the gateway, and ends it with the test. */
export async function starting(
  t: Test,
  args: readonly string[],
  env: Environment,
): Promise<Starting> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-waits-'))
  const child = await launch(['serve', ...args], { PORT: '0', DATA_DIR: directory, ...env })
  const lines: Line[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as Line)
  })
  child.stderr.resume()
  const exited = once(child, 'exit')
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<unknown> => {
    child.kill(signal)
    return (await exited)[0]
  }
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
    await removeFolder(directory)
  })
  const logs = (msg: string | RegExp): Promise<Line> =>
    eventually(
      String(msg),
      () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
        const isSought = (text: string) => (msg instanceof RegExp ? msg.test(text) : msg === text)
        return Promise.resolve(lines.find((line) => isSought(String(line['msg']))))
      },
      SERVES_MS,
    )
  return { lines, logs, stop }
}

/** Requests a URL and returns its answer. */
export async function statusOf(
  url: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
  return { status: response.status, body: await response.text() }
}
