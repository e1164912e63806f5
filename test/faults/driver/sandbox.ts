import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { bare, bareEnvironment } from '../../helpers/child.ts'
import { lastingPort } from '../../helpers/lasting-port.ts'
import type { Product } from '../../helpers/product.ts'
import type { Usage } from './tasks/family.ts'

/** The upstream of a run: the one process that is never killed, for it knows what was accepted. */

const START_TIMEOUT_MS = 120_000
const CONTROL_TIMEOUT_MS = 60_000
const PAGE = 1_000
/** What a gateway whose clock goes ahead signs is taken all the same. */
const SIGNATURE_SKEW_MS = 400 * 3_600_000

/** What upstream says of a task it accepted (`GET /__sandbox/accepted`). */
export interface Accepted {
  readonly seq: number
  readonly id: string
  readonly family: string
  readonly requested_model: string
  readonly safety_identifier: string | null
  readonly client_marker: string | null
  readonly accepted_at: string
  readonly status: string
  readonly finished: boolean
  readonly outcome: string
  readonly success: boolean
  readonly usage: Usage | null
  readonly usage_later: Usage | null
  readonly cancelled: boolean
  readonly deleted: boolean
  readonly gone: boolean
}

export interface FaultRule {
  readonly faults: readonly string[]
  readonly rate?: number
  readonly once?: number
  readonly seed?: number
  readonly match?: { readonly op?: readonly string[] }
}

export interface Sandbox {
  readonly url: string
  /** Holds it: connections stay open, nothing is answered, until it is let go on. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Ends it at once; what it accepted is kept for the next start, on the same port. */
  readonly kill: () => Promise<void>
  readonly restart: () => Promise<void>
  readonly accepted: () => Promise<readonly Accepted[]>
  /** Requests by `<family>.<operation>`. */
  readonly requests: () => Promise<Readonly<Record<string, { readonly count: number }>>>
  readonly addFault: (rule: FaultRule) => Promise<void>
  readonly clearFaults: () => Promise<void>
  readonly stop: () => Promise<void>
}

interface Running {
  readonly url: string
  readonly child: ChildProcess
}

async function launch(
  build: Product,
  directory: string,
  port: number,
  options: Readonly<Record<string, number>>,
): Promise<Running> {
  const args = ['--data', join(directory, 'sandbox'), '--port', String(port)]
  args.push('--log-level', 'warn')
  for (const [name, value] of Object.entries(options)) args.push(name, String(value))
  const logFile = join(directory, 'sandbox.log')
  const log = openSync(logFile, 'a')
  const child: ChildProcess = spawn(...bare(process.execPath, [build.sandbox, ...args]), {
    stdio: ['ignore', 'pipe', log],
    env: bareEnvironment(),
  })
  closeSync(log)
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const first = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    once(child, 'exit').then(() => undefined),
    sleep(START_TIMEOUT_MS, undefined, { ref: false }),
  ])
  if (first === undefined) {
    child.kill('SIGKILL')
    throw new Error(`the sandbox did not start; see ${logFile}`)
  }
  const { url } = JSON.parse(first) as { readonly url: string }
  return { url, child }
}

async function end({ child }: Running, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Starts it with tasks that queue and run for these times unless a prompt says otherwise. */
export async function startSandbox(
  build: Product,
  directory: string,
  times: { readonly queuedMs: number; readonly runningMs: number; readonly seed: number },
): Promise<Sandbox> {
  const options = {
    '--queued-ms': times.queuedMs,
    '--running-ms': times.runningMs,
    '--seed': times.seed,
    '--signature-skew-ms': SIGNATURE_SKEW_MS,
  }
  const port = await lastingPort()
  let running = await launch(build, directory, port, options)
  const kill = (): void => void running.child.kill('SIGKILL')
  process.on('exit', kill)
  const { url } = running
  const control = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/__sandbox/${path}`, {
      method,
      signal: AbortSignal.timeout(CONTROL_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`the sandbox refused ${path}: ${await response.text()}`)
    return response.json()
  }
  return {
    url,
    freeze: () => void running.child.kill('SIGSTOP'),
    thaw: () => void running.child.kill('SIGCONT'),
    kill: () => end(running, 'SIGKILL'),
    restart: async () => {
      running = await launch(build, directory, port, options)
    },
    accepted: async () => {
      const items: Accepted[] = []
      for (let after: number | null = 0; after !== null;) {
        const page = (await control('GET', `accepted?after=${after}&limit=${PAGE}`)) as {
          readonly items: readonly Accepted[]
          readonly next_after: number | null
        }
        items.push(...page.items)
        after = page.next_after
      }
      return items
    },
    requests: async () => {
      const { routes } = (await control('GET', 'requests')) as {
        readonly routes: Record<string, { readonly count: number }>
      }
      return routes
    },
    addFault: async (rule) => void (await control('POST', 'faults', rule)),
    clearFaults: async () => void (await control('DELETE', 'faults')),
    stop: async () => {
      running.child.kill('SIGCONT')
      await end(running, 'SIGTERM')
      process.off('exit', kill)
    },
  }
}
