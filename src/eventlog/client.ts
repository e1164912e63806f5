import { silentLog, type Log } from '../kernel/log.ts'
import { appendEvents } from './append.ts'
import { createConnection, type AppendPath } from './connection.ts'
import { logUnavailable } from './errors.ts'
import { createGate } from './gate.ts'
import { createHealth } from './health.ts'
import { defaultLimits, type EventLogLimits } from './limits.ts'
import type { EventLogObserver } from './observer.ts'
import { endPosition, probeEnd, readAll, readStream } from './read.ts'
import { subscribe } from './subscribe.ts'
import type { EventLog } from './types.ts'

export interface EventLogOptions {
  /** `esdb://host:port?tls=false`, or a cluster's connection string. */
  readonly url: string
  /** Put before every stream name, its separator included: `tollgate-`. May be empty. */
  readonly namespace: string
  readonly log?: Log
  readonly observer?: EventLogObserver
  readonly limits?: Partial<EventLogLimits>
  /** `batch` unless given. */
  readonly appendPath?: AppendPath
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
  const base = { connection, namespace, limits, observer, logger }
  const health = createHealth({
    limits,
    probe: async () => {
      await probeEnd(base)
    },
    observer: {
      ...observer,
      healthChanged: (healthy) => {
        if (healthy) logger.info({}, 'event log answers again')
        else logger.warn({}, 'event log does not answer')
        observer.healthChanged?.(healthy)
      },
    },
  })
  const gate = createGate(limits.maxConcurrentAppends, limits.maxQueuedAppends)
  const deps = { ...base, health, gate }
  const closing = new AbortController()
  const ensureOpen = () => {
    if (closing.signal.aborted) throw logUnavailable('it was closed')
  }
  return {
    append: async (stream, events, expected, appendOptions) => {
      ensureOpen()
      const deadlineMs = appendOptions?.deadlineMs ?? limits.appendDeadlineMs
      return appendEvents(deps, stream, events, expected, deadlineMs)
    },
    readStream: async (stream, readOptions) => {
      ensureOpen()
      return readStream(deps, stream, readOptions)
    },
    readAll: (readOptions) => {
      ensureOpen()
      return readAll(deps, readOptions)
    },
    endPosition: async () => {
      ensureOpen()
      return endPosition(deps)
    },
    subscribe: (subscribeOptions) => {
      ensureOpen()
      const signal = AbortSignal.any([subscribeOptions.signal, closing.signal])
      return subscribe(deps, { ...subscribeOptions, signal })
    },
    healthy: () => health.healthy(),
    close: async () => {
      closing.abort()
      health.close()
      await connection.close()
    },
  }
}
