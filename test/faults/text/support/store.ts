import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeArguments } from '../../../helpers/checkout.ts'
import { bare, bareEnvironment } from '../../../helpers/child.ts'
import { lastingPort } from '../../../helpers/lasting-port.ts'

/** The embedded event store as a process of its own, to be killed and held without its gateways. */
export interface Store {
  readonly url: string
  /** Ends it as a power cut would. */
  readonly kill9: () => Promise<void>
  /** Starts it again on the same data and port. */
  readonly restart: () => Promise<void>
  /** Holds it with all its connections open; `thaw` lets it go on. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** From now on every append is durable and none is answered; or all is well again. */
  readonly loseAnswers: (lose: boolean) => void
  readonly stop: () => Promise<void>
}

const START_MS = 120_000

const MAIN = new URL('../../../helpers/faulty-eventstore.ts', import.meta.url)

async function launch(directory: string, port: number) {
  const args = [...nodeArguments(MAIN), '--data', join(directory, 'events'), '--port', String(port)]
  const log = openSync(join(directory, 'event-store.log'), 'a')
  const child: ChildProcess = spawn(...bare(process.execPath, args), {
    stdio: ['ignore', 'pipe', log, 'ipc'],
    env: bareEnvironment(),
  })
  const ended = once(child, 'exit')
  const first = await Promise.race([
    once(createInterface({ input: child.stdout ?? process.stdin }), 'line'),
    ended.then(() => ['']),
    sleep(START_MS, [''], { ref: false }),
  ])
  const said = JSON.parse(String(first[0]) || '{}') as { readonly port?: number }
  if (said.port === undefined) {
    child.kill('SIGKILL')
    throw new Error('the event store did not start')
  }
  return { child, ended, port: said.port }
}

/** Starts one with its data below `directory`. */
export async function startStore(directory: string): Promise<Store> {
  const port = await lastingPort()
  let running = await launch(directory, port)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    running.child.kill(signal)
    await running.ended
  }
  return {
    url: `esdb://127.0.0.1:${port}?tls=false`,
    kill9: () => end('SIGKILL'),
    restart: async () => {
      running = await launch(directory, port)
    },
    freeze: () => void running.child.kill('SIGSTOP'),
    thaw: () => void running.child.kill('SIGCONT'),
    loseAnswers: (lose) => void running.child.send({ fault: lose ? 'lose-ack-every:1' : '' }),
    stop: async () => {
      running.child.kill('SIGCONT')
      await end('SIGTERM')
    },
  }
}

/** Looks into a spool directory from outside: `<length> <crc32> <json>\n` a record. */

/** A whole record: where it lies and whose settlements it holds. */
interface SpooledRecord {
  readonly start: number
  readonly end: number
  readonly callIds: readonly string[]
}

function files(directory: string): readonly string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.spool'))
    .map((name) => join(directory, name))
}

/** The whole records of a spool file, oldest first. */
export function recordsOf(path: string): readonly SpooledRecord[] {
  const bytes = readFileSync(path)
  const records: SpooledRecord[] = []
  let start = 0
  for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', start)) {
    const text = bytes.subarray(start, end).toString()
    const batch = JSON.parse(text.slice(text.indexOf('{'))) as {
      readonly events: readonly { readonly data: { readonly callId: string } }[]
    }
    records.push({ start, end: end + 1, callIds: batch.events.map(({ data }) => data.callId) })
    start = end + 1
  }
  return records
}

/** Whether a whole record of a call is on disk now. */
export function isSpooled(directory: string, callId: string): boolean {
  return files(directory).some((path) =>
    recordsOf(path).some(({ callIds }) => callIds.includes(callId)),
  )
}

/** Bytes of all files; one that is gone by now, as drained ones go, has none. */
export function sizeOf(directory: string): number {
  return files(directory)
    .map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((total, size) => total + size, 0)
}

/** Whether nothing waits. */
export function isEmpty(directory: string): boolean {
  return sizeOf(directory) === 0
}

/** The one spool file that holds something. @throws when there is none, or more than one */
export function fullFile(directory: string): string {
  const [path, ...more] = files(directory).filter((file) => statSync(file).size > 0)
  if (path === undefined || more.length > 0) throw new Error('not one spool file in use')
  return path
}

/** Cuts a file off, as a write does that a power cut ended. */
export function tear(path: string, atByte: number): void {
  truncateSync(path, atByte)
}
