/**
 * Entry point of the embedded event store, run as a child process.
 *
 * `main.ts --data DIR [--host 127.0.0.1] [--port 0] [--server-version 23.10|24.10|25.0]
 * [--stop-on-stdin-end] [--fault SPEC]`
 *
 * Prints one JSON line `{"event":"ready","url":"esdb://…","port":N}` on stdout once it serves; logs
 * JSON lines on stderr. Stops in order (refuse new calls, write what is queued, close) and exits 0
 * on SIGTERM, SIGINT, loss of its IPC channel, or the end of stdin if asked to. Exits 1 with a reason when
 * the data directory or the port cannot be used.
 *
 * With `--fault` (see faults.ts; the empty string enables it with none) or the environment
 * variable `TOLLGATE_ESDB_FAULT`, an IPC message `{"fault": SPEC}` changes the faults later.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { announceFailure, announceReady, logLine, onStopRequest } from '../child.ts'
import { type Faults, NO_FAULTS, SwitchableFaults } from './faults.ts'
import { soleNode } from './gate.ts'
import { LOCK_WAIT_MS, LOCK_RETRY_MS } from './limits.ts'
import { EventLog } from './log.ts'
import { type EventStoreServer, startServer } from './server.ts'
import { OpenError } from './types.ts'
import { DEFAULT_SERVER_VERSION, parseServerVersion, type ServerVersion } from './versions.ts'

/** What each event of this process means, in words for the operator. */
const words = {
  bad_fault: 'fault not understood',
  ready: 'serving the log',
  recovered: 'writing again',
  recovery_failed: 'still cannot write',
  stopped: 'stopped',
  stopping: 'stopping',
  stop_failed: 'could not stop in order',
  unexpected: 'unexpected failure',
  waiting: 'waiting for the process that still holds the log',
  write_failed: 'cannot write the log',
} as const

function report(
  level: 'info' | 'error',
  event: keyof typeof words,
  fields: Record<string, unknown> = {},
): void {
  logLine(level, words[event], { event, ...fields })
}

function readArguments(): {
  data: string
  host: string
  port: number
  version: ServerVersion
  stopOnStdinEnd: boolean
  fault: string | undefined
} {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '0' },
      'server-version': { type: 'string', default: DEFAULT_SERVER_VERSION },
      'stop-on-stdin-end': { type: 'boolean', default: false },
      fault: { type: 'string' },
    },
  })
  const port = Number(values.port)
  if (values.data === undefined) throw new TypeError('--data DIR is required')
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError('--port must be a port number')
  }
  return {
    data: values.data,
    host: values.host,
    port,
    version: parseServerVersion(values['server-version']),
    stopOnStdinEnd: values['stop-on-stdin-end'],
    fault: values.fault ?? process.env['TOLLGATE_ESDB_FAULT'],
  }
}

function readFaults(spec: string | undefined): Faults {
  if (spec === undefined) return NO_FAULTS
  const faults = new SwitchableFaults()
  faults.set(spec)
  process.on('message', (message: unknown) => {
    if (typeof message !== 'object' || message === null || !('fault' in message)) return
    try {
      faults.set(String(message.fault))
    } catch (error) {
      report('error', 'bad_fault', { reason: reasonOf(error) })
    }
  })
  return faults
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Opens the log. A predecessor whose parent was killed may still be closing the log in order: wait
 * for it.
 */
async function openLog(dir: string): Promise<EventLog> {
  const untilMs = monotonicClock.nowMs() + LOCK_WAIT_MS
  for (let tries = 1; ; tries += 1) {
    try {
      return await EventLog.open(dir, (event, detail) => {
        report(event === 'recovered' ? 'info' : 'error', event, { detail })
      })
    } catch (error) {
      const held = error instanceof OpenError && error.code === 'locked'
      if (!held || monotonicClock.nowMs() >= untilMs) throw error
      if (tries === 1) report('info', 'waiting')
      await sleep(LOCK_RETRY_MS)
    }
  }
}

async function main(): Promise<void> {
  const args = readArguments()
  const faults = readFaults(args.fault)
  const log = await openLog(args.data)
  let server: EventStoreServer
  try {
    const { host, port, version } = args
    server = await startServer({ log, faults, gate: soleNode(), version, host, port })
  } catch (error) {
    await log.close()
    throw error
  }

  let stopped: Promise<void> | undefined
  const stop = (why: string): void => {
    stopped ??= (async () => {
      report('info', 'stopping', { why })
      await server.stop()
      await log.close()
      report('info', 'stopped')
      process.exit(0)
    })().catch((error: unknown) => {
      report('error', 'stop_failed', { reason: reasonOf(error) })
      process.exit(1)
    })
  }
  onStopRequest(stop)
  if (args.stopOnStdinEnd) {
    process.stdin.on('end', () => stop('stdin ended')).on('error', () => stop('stdin failed'))
    process.stdin.resume()
  }
  process.on('uncaughtException', (error) => {
    // Stopping here loses no acknowledged event; going on in an unknown state could lose one.
    report('error', 'unexpected', { reason: error.stack ?? error.message })
    process.exit(1)
  })
  announceReady(`esdb://${args.host}:${server.port}?tls=false`, { port: server.port })
  report('info', 'ready', { port: server.port, lastPosition: log.lastPosition })
}

main().catch((error: unknown) => {
  const code = error instanceof OpenError ? error.code : 'start_failed'
  const reason = reasonOf(error)
  announceFailure(reason, { event: code, reason })
  process.exit(1)
})
