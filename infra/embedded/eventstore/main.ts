/**
 * Entry point of the embedded event store, run as a child process.
 *
 * `main.ts --data DIR [--port N] [--server-version 23.10|24.10|25.0] [--stop-on-stdin-end] [--fault SPEC] [--check-tables]`
 *
 * It listens on a socket that no other account can reach. With `--port` it stands in for a server elsewhere, in tests:
 * it listens on that port of the loopback (0: any free one) and serves every caller.
 *
 * Prints one JSON line `{"event":"ready","url":"unix:…"}` on stdout once it serves (with a port,
 * `"url":"esdb://…","port":N`); logs JSON lines on stderr. Stops in order (refuse new calls, write what is queued, close) and exits 0
 * on SIGTERM, SIGINT, loss of its IPC channel, or the end of stdin if asked to. Exits 1 with a reason when
 * the data directory or the port cannot be used.
 *
 * With `--check-tables` every block of the tables is read first: a process that meets a damaged one may abort.
 *
 * With `--fault` (see faults.ts; the empty string enables it with none) or the environment
 * variable `TOLLGATE_ESDB_FAULT`, an IPC message `{"fault": SPEC}` changes the faults later.
 */

import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { announceFailure, announceReady, logLine, onStopRequest } from '../child.ts'
import { giveSigns } from '../signs-of-life.ts'
import { openSocketFolder } from '../socket-folder.ts'
import { type Faults, NO_FAULTS, SwitchableFaults } from './faults.ts'
import { soleNode } from './gate.ts'
import { LOCK_WAIT_MS, LOCK_RETRY_MS } from './limits.ts'
import { EventLog } from './log.ts'
import { type EventStoreServer, type Place, startServer } from './server.ts'
import { OpenError } from './types.ts'
import { DEFAULT_SERVER_VERSION, parseServerVersion, type ServerVersion } from './versions.ts'

const HOST = '127.0.0.1'
const SOCKET_NAME = 'log'

/** What each event of this process means, in words for the operator. */
const words = {
  bad_fault: 'fault not understood',
  damaged_end: 'a file ends in what cannot be read',
  ready: 'serving the log',
  recovered: 'writing again',
  recovery_failed: 'still cannot write',
  stopped: 'stopped',
  stopping: 'stopping',
  stop_failed: 'could not stop in order',
  unexpected: 'unexpected failure',
  without_checksums: 'the log was made by an earlier release and has no checksums',
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
  port: number | undefined
  version: ServerVersion
  stopOnStdinEnd: boolean
  fault: string | undefined
  checksTables: boolean
} {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      'server-version': { type: 'string', default: DEFAULT_SERVER_VERSION },
      'stop-on-stdin-end': { type: 'boolean', default: false },
      fault: { type: 'string' },
      'check-tables': { type: 'boolean', default: false },
    },
  })
  const port = values.port === undefined ? undefined : Number(values.port)
  if (values.data === undefined) throw new TypeError('--data DIR is required')
  if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65_535)) {
    throw new TypeError('--port must be a port number')
  }
  return {
    data: values.data,
    port,
    version: parseServerVersion(values['server-version']),
    stopOnStdinEnd: values['stop-on-stdin-end'],
    checksTables: values['check-tables'],
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
async function openLog(dir: string, deeply: boolean): Promise<EventLog> {
  const untilMs = monotonicClock.nowMs() + LOCK_WAIT_MS
  for (let tries = 1; ; tries += 1) {
    try {
      const say = (event: Parameters<typeof report>[1], detail: string): void =>
        report(event === 'recovered' ? 'info' : 'error', event, { detail })
      return await EventLog.open(dir, say, { deeply })
    } catch (error) {
      const held = error instanceof OpenError && error.code === 'locked'
      if (!held || monotonicClock.nowMs() >= untilMs) throw error
      if (tries === 1) report('info', 'waiting')
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/** Where to listen. The log is open, so that no other process listens for this directory. */
async function placeOf({ data, port }: { data: string; port: number | undefined }): Promise<Place> {
  if (port !== undefined) return { host: HOST, port }
  const folder = await openSocketFolder(resolve(data), SOCKET_NAME)
  return { socket: join(folder, SOCKET_NAME) }
}

async function main(): Promise<void> {
  const args = readArguments()
  const faults = readFaults(args.fault)
  const log = await openLog(args.data, args.checksTables)
  let server: EventStoreServer
  let place: Place
  try {
    place = await placeOf(args)
    server = await startServer({
      log,
      faults,
      gate: soleNode(),
      version: args.version,
      place,
    })
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
  if ('socket' in place) announceReady(`unix:${place.socket}`)
  else announceReady(`esdb://${HOST}:${server.port}?tls=false`, { port: server.port })
  giveSigns(() => Promise.resolve(true))
  report('info', 'ready', { ...place, lastPosition: log.lastPosition })
}

main().catch((error: unknown) => {
  const code = error instanceof OpenError ? error.code : 'start_failed'
  const reason = reasonOf(error)
  announceFailure(reason, { event: code, reason })
  process.exit(1)
})
