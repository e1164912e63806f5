/**
 * Starts the embedded event store as its own process, as the product does: on a socket closed to other accounts.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ServerVersion } from '../../infra/embedded/eventstore/versions.ts'
import { nodeArguments } from '../helpers/checkout.ts'
import { replaceFaults } from '../helpers/child.ts'

const ENTRY = new URL('../../infra/embedded/eventstore/main.ts', import.meta.url)
/** An event store whose faults can be changed. */
const FAULTY = new URL('../helpers/faulty-eventstore.ts', import.meta.url)
const START_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 10_000

/** How to start it; everything has a default. */
export interface StartOptions {
  /** Kept when given; otherwise a fresh directory that `stop` removes. */
  readonly dataDir?: string
  /** Listens on this port instead, which every account reaches; 0: any free one. */
  readonly port?: number
  /** The generation of server stood in for; its default is the product's. */
  readonly version?: ServerVersion
  /** Initial faults, see test/helpers/append-faults.ts; also enables `setFault`. */
  readonly fault?: string
  /** Command the server is run under, e.g. `['prlimit', '--fsize=1000']`. */
  readonly under?: readonly string[]
}

/** A running server. */
export interface EmbeddedServer {
  readonly url: string
  /** As gRPC names it. */
  readonly address: string
  readonly pid: number
  readonly dataDir: string
  readonly process: ChildProcess
  /** Log lines written so far. */
  readonly logs: readonly Record<string, unknown>[]
  /** Replaces the faults of a server started with `fault`. */
  readonly setFault: (spec: string) => Promise<void>
  /** SIGKILL; resolves once the process is gone. Keeps the data. */
  readonly kill: () => Promise<void>
  /** SIGTERM; resolves with the exit code. Removes the data if it was temporary. */
  readonly stop: () => Promise<number | null>
}

/** The process ended instead of becoming ready. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly exitCode: number | null
  readonly logs: readonly Record<string, unknown>[]

  constructor(exitCode: number | null, logs: readonly Record<string, unknown>[]) {
    super(`the event store exited with ${exitCode}: ${JSON.stringify(logs)}`)
    this.exitCode = exitCode
    this.logs = logs
  }
}

/** Starts a server and waits until it serves. @throws {StartFailure} */
export async function startEmbeddedServer(options: StartOptions = {}): Promise<EmbeddedServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tollgate-contract-')))
  const [command = process.execPath, ...rest] = [
    ...(options.under ?? []),
    process.execPath,
    ...nodeArguments(options.fault === undefined ? ENTRY : FAULTY),
    '--data',
    dataDir,
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.version === undefined ? [] : ['--server-version', options.version]),
    ...(options.fault === undefined ? [] : ['--fault', options.fault]),
  ]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const logs = collectLogs(child)
  const gone = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let url: string
  try {
    url = await readyUrl(child, gone, logs)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const removeData = async (): Promise<void> => {
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  return {
    url,
    address: url.replace(/^esdb:\/\/|\?.*$/g, ''),
    pid: child.pid ?? -1,
    dataDir,
    process: child,
    logs,
    setFault: (spec) => replaceFaults(child, spec),
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
    stop: async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      const code = await gone
      clearTimeout(timer)
      await removeData()
      return code
    },
  }
}

function collectLogs(child: ChildProcess): Record<string, unknown>[] {
  const logs: Record<string, unknown>[] = []
  if (child.stderr === null) return logs
  createInterface({ input: child.stderr }).on('line', (line) => {
    try {
      logs.push(JSON.parse(line) as Record<string, unknown>)
    } catch {
      logs.push({ text: line })
    }
  })
  return logs
}

async function readyUrl(
  child: ChildProcess,
  gone: Promise<number | null>,
  logs: readonly Record<string, unknown>[],
): Promise<string> {
  const { stdout } = child
  if (stdout === null) throw new Error('the event store has no stdout')
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const message = JSON.parse(line) as { event?: string; url?: string }
      if (message.event === 'ready' && message.url !== undefined) resolve(message.url)
    })
  })
  const failed = gone.then(async (code): Promise<never> => {
    // The last log lines may arrive after the exit.
    await new Promise((resolve) => setTimeout(resolve, 50))
    throw new StartFailure(code, logs)
  })
  failed.catch(() => undefined)
  const timer = AbortSignal.timeout(START_TIMEOUT_MS)
  const late = new Promise<never>((_resolve, reject) => {
    timer.addEventListener('abort', () => reject(new Error('the event store did not start')))
  })
  return await Promise.race([ready, failed, late])
}
