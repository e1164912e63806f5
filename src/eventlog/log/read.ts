import { monotonicClock } from '../../kernel/clock.ts'
import { createBackoff, pause } from '../../kernel/pause.ts'
import { decodeEvent } from './codec.ts'
import type { Connection } from './connection.ts'
import { eventInvalid, logUnavailable } from './errors.ts'
import { failureOf } from './failure.ts'
import type { Health } from './health.ts'
import type { EventLogLimits } from './limits.ts'
import type { EventLogObserver, ReadAllOptions, ReadOptions, RecordedEvent } from './types.ts'
import { eventsThrough, isBehind, type LogPosition, placeOf } from './position.ts'
import {
  readAllRequest,
  readLastRequest,
  type ReadRequest,
  readStreamRequest,
  readTipRequest,
} from './wire.ts'
import { NoAnswerError } from './client-internals.ts'

export interface ReadDeps {
  readonly connection: Connection
  readonly namespace: string
  /** Prefixes of the gateway's streams, including the namespace. */
  readonly prefixes: readonly string[]
  readonly limits: EventLogLimits
  readonly health: Health
  readonly observer: EventLogObserver
}

/** Reads one page in one attempt; an unknown stream is an empty page. Errors are those of gRPC. */
async function readPage(
  deps: ReadDeps,
  request: ReadRequest,
  tryMs: number,
  signal?: AbortSignal,
): Promise<readonly RecordedEvent[]> {
  const expiry = expireAfter(tryMs)
  const events: RecordedEvent[] = []
  try {
    const answers = deps.connection.pull(request, {
      signal: signal === undefined ? expiry.signal : AbortSignal.any([signal, expiry.signal]),
      requiresLeader: true,
      idleMs: tryMs,
      onIdle: () => true,
    })
    for await (const batch of answers)
      for (const answer of batch) {
        if (answer.kind === 'streamNotFound') return []
        if (answer.kind === 'event') events.push(decodeEvent(answer.event, deps.namespace))
      }
    return events
  } finally {
    expiry.clear()
  }
}

/** Unlike `AbortSignal.timeout`, it leaves no timer behind when the work was quicker. */
function expireAfter(ms: number): { readonly signal: AbortSignal; readonly clear: () => void } {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), ms)
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}

/** Tries again until the read deadline. @throws `log_unavailable`, `event_invalid` */
async function readRetrying<Result>(
  deps: ReadDeps,
  readOnce: (tryMs: number) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { limits, health } = deps
  const untilMs = monotonicClock.nowMs() + limits.readDeadlineMs
  const backoff = createBackoff(limits.backoffMinMs, limits.backoffMaxMs)
  for (;;) {
    const tryMs = Math.max(1, Math.min(limits.readTryMs, untilMs - monotonicClock.nowMs()))
    try {
      const result = await readOnce(tryMs)
      health.succeeded('read')
      return result
    } catch (error) {
      signal?.throwIfAborted()
      const pauseMs = retryPause(deps, error, backoff.nextMs())
      if (monotonicClock.nowMs() + pauseMs >= untilMs)
        throw logUnavailable(error instanceof Error ? error.message : String(error))
      await pause(pauseMs, signal)
    }
  }
}

/** A page of a stream, observed, with retries. */
async function readStreamPage(
  deps: ReadDeps,
  request: ReadRequest,
  signal?: AbortSignal,
): Promise<readonly RecordedEvent[]> {
  const startedMs = monotonicClock.nowMs()
  const observe = (outcome: 'ok' | 'failed', events: number) =>
    deps.observer.read?.({ outcome, events, durationMs: monotonicClock.nowMs() - startedMs })
  try {
    const page = await readRetrying(deps, (tryMs) => readPage(deps, request, tryMs, signal), signal)
    observe('ok', page.length)
    return page
  } catch (error) {
    observe('failed', 0)
    throw error
  }
}

/** The pause before another try. @throws errors that no further try can resolve */
function retryPause(deps: ReadDeps, error: unknown, pauseMs: number): number {
  if (isContentError(error)) throw error
  const failure = failureOf(error)
  if (failure.kind === 'rejected') throw eventInvalid({ type: '', reason: failure.reason })
  if (failure.kind === 'denied') {
    deps.health.denied('read', failure.reason)
    return Infinity
  }
  // The log answers, but the requested data cannot be read.
  if (failure.kind === 'damaged') throw logUnavailable(failure.reason)
  deps.health.failed('read')
  return failure.kind === 'transport' && !failure.retry ? Infinity : pauseMs
}

/** Whether an error is about the content that was read, not about reading it. */
export function isContentError(error: unknown): boolean {
  return error instanceof Error && error.name === 'DomainError'
}

/** A stream's events from a revision on, in pages. */
export async function readStream(
  deps: ReadDeps,
  stream: string,
  options: ReadOptions = {},
): Promise<readonly RecordedEvent[]> {
  const { limits } = deps
  const wanted = options.limit ?? Infinity
  const events: RecordedEvent[] = []
  let next = options.from ?? 0n
  while (events.length < wanted) {
    const count = Math.min(limits.readPageEvents, wanted - events.length)
    const request = readStreamRequest(`${deps.namespace}${stream}`, next, count)
    const page = await readStreamPage(deps, request, options.signal)
    events.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < count) break
    next = last.revision + 1n
    if (events.length > limits.maxStreamEvents)
      throw eventInvalid({ type: last.type, reason: 'its stream is too long', stream })
  }
  return events
}

/**
 * `$all` of the namespace, exclusive of `from`, to the end of the log as its leader has it. A
 * broken read continues where it stopped, and so does one whose node is no longer the leader and
 * may be behind. The end of the log is reached when a new call returns nothing more.
 * @throws `log_unavailable` when nothing came for the read deadline
 */
export async function* readAll(
  deps: ReadDeps,
  options: ReadAllOptions = {},
): AsyncGenerator<RecordedEvent, void, undefined> {
  const { limits, health } = deps
  const { signal } = options
  const wanted = options.limit ?? Number.MAX_SAFE_INTEGER - 1
  const backoff = createBackoff(limits.backoffMinMs, limits.backoffMaxMs)
  let at = options.from
  let given = 0
  let untilMs = monotonicClock.nowMs() + limits.readDeadlineMs
  while (given < wanted) {
    signal?.throwIfAborted()
    // One more event, because the event at `from` is returned again.
    const request = readAllRequest(deps.prefixes, at, wanted - given + 1)
    const givenBefore = given
    try {
      for await (const batch of deps.connection.pull(request, {
        ...(signal === undefined ? {} : { signal }),
        requiresLeader: true,
        idleMs: limits.readTryMs,
        onIdle: () => true,
      }))
        for (const answer of batch) {
          if (answer.kind !== 'event') continue
          if (at !== undefined && answer.event.position <= eventsThrough(at)) continue
          const event = decodeEvent(answer.event, deps.namespace)
          yield event
          at = placeOf(event.position)
          given += 1
          if (given >= wanted) return
          untilMs = 0
        }
      health.succeeded('read')
      if (given === givenBefore) return
    } catch (error) {
      signal?.throwIfAborted()
      if (untilMs === 0) {
        backoff.reset()
        untilMs = monotonicClock.nowMs() + limits.readDeadlineMs
      }
      const pauseMs = retryPause(deps, error, backoff.nextMs())
      if (monotonicClock.nowMs() + pauseMs >= untilMs)
        throw logUnavailable(error instanceof Error ? error.message : String(error))
      await pause(pauseMs, signal)
    }
  }
}

type ProbeDeps = Pick<ReadDeps, 'connection' | 'limits'>

/**
 * The place of the last event a read answers with, in a single try that does not affect the health.
 */
export async function readPlace(
  deps: ProbeDeps,
  request: ReadRequest,
  tryMs = deps.limits.readTryMs,
): Promise<LogPosition | undefined> {
  const expiry = expireAfter(tryMs)
  let place: LogPosition | undefined
  try {
    const answers = deps.connection.pull(request, {
      signal: expiry.signal,
      requiresLeader: true,
      idleMs: tryMs,
      onIdle: () => true,
    })
    for await (const batch of answers)
      for (const answer of batch) if (answer.kind === 'event') place = answer.at
    return place
  } finally {
    expiry.clear()
  }
}

/** Whether an event of such a stream is behind a position; a single try, forwards from there. */
export async function isAnyBehind(
  deps: ProbeDeps,
  prefixes: readonly string[],
  at: LogPosition | undefined,
): Promise<boolean> {
  // Two, because the event at the place itself comes again.
  const found = await readPlace(deps, readAllRequest(prefixes, at, 2))
  return found !== undefined && (at === undefined || isBehind(found, at))
}

/** Finds the position of our last event in a log to which other programs may append faster. */
interface EndFinder {
  /** The caller has read everything up to there: the search need not start before it. */
  readonly passed: (at: LogPosition) => void
  /**
   * At least the position of the gateway's last event; if no event is behind `passed`, the position
   * that `passed` reached. Undefined in an empty log, or while the gateway has no event in it.
   * @throws `log_unavailable`
   */
  readonly find: () => Promise<bigint | undefined>
}

/**
 * The server searches the events of other programs one by one and does not report how far it is. So
 * each search ends where the previous one began, and a silent search does not make the log
 * unhealthy: reading the last event of all, which the server finds immediately, shows whether the
 * log answers.
 */
export function createEndFinder(deps: ReadDeps): EndFinder {
  let searched: LogPosition | undefined
  let last: bigint | undefined
  /** Position up to which events were passed. */
  let floor: bigint | undefined

  const searchedTo = (at: LogPosition) => {
    if (searched === undefined || isBehind(at, searched)) searched = at
  }
  const known = () => (floor !== undefined && (last === undefined || floor > last) ? floor : last)
  const search = async (): Promise<bigint | undefined> => {
    try {
      if (searched !== undefined && !(await isAnyBehind(deps, deps.prefixes, searched))) return last
      return (await readPlace(deps, readLastRequest(deps.prefixes)))?.commit
    } catch (error) {
      if (error instanceof NoAnswerError)
        throw logUnavailable('our last event was not found in time')
      throw error
    }
  }
  return {
    passed: (at) => {
      const reached = eventsThrough(at)
      if (floor === undefined || reached > floor) floor = reached
      searchedTo(at)
    },
    find: async () => {
      const tip = await readRetrying(deps, (tryMs) => readPlace(deps, readTipRequest(), tryMs))
      if (tip === undefined) return undefined
      if (searched !== undefined && !isBehind(tip, searched)) return known()
      const found = await readRetrying(deps, search)
      if (found !== undefined && (last === undefined || found > last)) last = found
      searchedTo(tip)
      return known()
    },
  }
}
