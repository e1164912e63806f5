/** The embedded event store as a process: its arguments, its reports, and its stop. */

import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { releaseStartMemory } from '../../../src/platform/v8-flags.ts'
import { announceFailure, announceReady, logLine, onStopRequest } from '../child.ts'
import { giveSigns } from '../signs-of-life.ts'
import { openSocketFolder } from '../socket-folder.ts'
import { soleNode } from './gate.ts'
import { LOCK_WAIT_MS, LOCK_RETRY_MS } from './limits.ts'
import { ServerLog } from './log.ts'
import { type EventStoreServer, type ListenAddress, startServer } from './server.ts'
import { type AppendHooks, OpenError } from './types.ts'
import { DEFAULT_SERVER_VERSION, parseServerVersion, type ServerVersion } from './versions.ts'

const HOST = '127.0.0.1'
const SOCKET_NAME = 'log'

/** Messages of the events of this process, in words for the operator. */
const words = {
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

function readArguments(args: readonly string[]): {
  data: string
  port: number | undefined
  version: ServerVersion
  stopOnStdinEnd: boolean
  checksTables: boolean
} {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      'server-version': { type: 'string', default: DEFAULT_SERVER_VERSION },
      'stop-on-stdin-end': { type: 'boolean', default: false },
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
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Opens the log. A predecessor whose parent was killed may still be closing the log in order: wait
 * for it.
 */
async function openLog(dir: string, deeply: boolean): Promise<ServerLog> {
  const untilMs = monotonicClock.nowMs() + LOCK_WAIT_MS
  for (let tries = 1; ; tries += 1) {
    try {
      const say = (event: Parameters<typeof report>[1], detail: string): void =>
        report(event === 'recovered' ? 'info' : 'error', event, { detail })
      return await ServerLog.open(dir, say, { deeply })
    } catch (error) {
      const held = error instanceof OpenError && error.code === 'locked'
      if (!held || monotonicClock.nowMs() >= untilMs) throw error
      if (tries === 1) report('info', 'waiting')
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/** Where to listen. The log is open, so that no other process listens for this directory. */
async function listenAddressOf({
  data,
  port,
}: {
  data: string
  port: number | undefined
}): Promise<ListenAddress> {
  if (port !== undefined) return { host: HOST, port }
  const folder = await openSocketFolder(resolve(data), SOCKET_NAME)
  return { socket: join(folder, SOCKET_NAME) }
}

async function run(given: readonly string[], hooks: AppendHooks): Promise<void> {
  const args = readArguments(given)
  const log = await openLog(args.data, args.checksTables)
  let server: EventStoreServer
  let place: ListenAddress
  try {
    place = await listenAddressOf(args)
    server = await startServer({
      log,
      hooks,
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
  releaseStartMemory()
  if ('socket' in place) announceReady(`unix:${place.socket}`)
  else announceReady(`esdb://${HOST}:${server.port}?tls=false`, { port: server.port })
  giveSigns()
  report('info', 'ready', { ...place, lastPosition: log.lastPosition })
}

/** Runs it until it is stopped. The hooks of a process that tests start lose answers, or delay them. */
export function runEventStore(args: readonly string[], hooks: AppendHooks = {}): void {
  run(args, hooks).catch((error: unknown) => {
    const code = error instanceof OpenError ? error.code : 'start_failed'
    const reason = reasonOf(error)
    announceFailure(reason, { event: code, reason })
    process.exit(1)
  })
}
