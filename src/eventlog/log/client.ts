import { streamPrefixes } from '../../domain/any-event.ts'
import { silentLog, type Log } from '../../kernel/log.ts'
import { appendEvents, createGate } from './append.ts'
import { createConnection, type AppendPath } from './connection.ts'
import { createEndFinder, readAll, readStream } from './read.ts'
import { logUnavailable } from './errors.ts'
import { createHealth, type Health } from './health.ts'
import { defaultLimits, type EventLogLimits } from './limits.ts'
import type { EventLog, EventLogObserver } from './types.ts'
import { accountIn, checkAccess, probeAppend, probeRead, type ProbeDeps } from './probe.ts'
import { subscribe } from './subscribe.ts'

export interface EventLogOptions {
  /** `esdb://host:port?tls=false`, a cluster's connection string, or `unix:/path` of a socket. */
  readonly url: string
  /** Put before every stream name, its separator included: `tollgate.`. */
  readonly namespace: string
  readonly log?: Log
  readonly observer?: EventLogObserver
  readonly limits?: Partial<EventLogLimits>
  /** `batch` unless given. */
  readonly appendPath?: AppendPath
}

/**
 * Creates the health of the log: it probes by repeating the kind of call that failed, and reports
 * to logs and metrics.
 */
function watchHealth(deps: ProbeDeps, observer: EventLogObserver, logger: Log): Health {
  const health: Health = createHealth({
    limits: deps.limits,
    why: deps.connection.undiscovered,
    probe: async (call) => {
      const probe = call === 'append' ? probeAppend : probeRead
      const failure = await probe(deps, deps.limits.probeTryMs)
      if (failure?.kind === 'denied') health.denied(call, failure.reason)
      if (failure !== undefined) throw new Error(failure.kind)
    },
    observer: {
      ...observer,
      healthChanged: (healthy) => {
        if (healthy) logger.info({}, 'event log answers again')
        else logger.warn({ denied: health.denial() }, 'event log does not answer')
        observer.healthChanged?.(healthy)
      },
    },
  })
  return health
}

/**
 * The event log. Nothing is sent before the first call.
 * @throws when the URL cannot be parsed
 */
export function createEventLog(options: EventLogOptions): EventLog {
  const { namespace } = options
  const limits: EventLogLimits = { ...defaultLimits, ...options.limits }
  const observer = options.observer ?? {}
  const logger = options.log ?? silentLog
  const connection = createConnection(options.url, options.appendPath ?? 'batch')
  const prefixes = streamPrefixes.map((prefix) => `${namespace}${prefix}`)
  const base = { connection, namespace, prefixes, limits, observer, logger }
  const health = watchHealth(base, observer, logger)
  const gate = createGate(limits.maxConcurrentAppends, limits.maxQueuedAppends)
  const deps = { ...base, health, gate }
  const end = createEndFinder(deps)
  const closing = new AbortController()
  const ensureOpen = () => {
    if (closing.signal.aborted) throw logUnavailable('it was closed')
  }
  const ready = async (): Promise<void> => {
    ensureOpen()
    await health.admit()
  }
  return {
    append: async (stream, events, expected, appendOptions) => {
      await ready()
      const deadlineMs = appendOptions?.deadlineMs ?? limits.appendDeadlineMs
      return appendEvents(deps, stream, events, expected, deadlineMs)
    },
    readStream: async (stream, readOptions) => {
      await ready()
      return readStream(deps, stream, readOptions)
    },
    readAll: (readOptions) => {
      ensureOpen()
      return readAll(deps, readOptions)
    },
    endPosition: async () => {
      await ready()
      return end.find()
    },
    passed: (at) => end.passed(at),
    subscribe: (subscribeOptions) => {
      ensureOpen()
      const signal = AbortSignal.any([subscribeOptions.signal, closing.signal])
      return subscribe(deps, { ...subscribeOptions, signal })
    },
    healthy: () => health.healthy(),
    ready,
    denial: () => {
      const denial = health.denial()
      return denial && `refuses our account: ${denial}`
    },
    checkAccess: () => checkAccess(deps, accountIn(options.url)),
    close: async () => {
      closing.abort()
      health.close()
      await connection.close()
    },
  }
}
