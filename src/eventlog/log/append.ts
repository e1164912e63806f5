import { monotonicClock } from '../../kernel/clock.ts'
import { unreachable } from '../../kernel/assert.ts'
import { createBackoff, pause } from '../../kernel/pause.ts'
import { type EncodedEvent, encodeEvent } from './codec.ts'
import type { Connection } from './connection.ts'
import {
  appendTooLarge,
  eventInvalid,
  type LogError,
  logOutcomeUnknown,
  logUnavailable,
  wrongExpectedRevision,
} from './errors.ts'
import type { TryFailure } from './failure.ts'
import type { Health } from './health.ts'
import type { EventLogLimits } from './limits.ts'
import type {
  AppendObservation,
  AppendResult,
  EventLogObserver,
  ExpectedRevision,
  NewEvent,
} from './types.ts'
import type { AppendCommand } from './wire-append.ts'

interface AppendDeps {
  readonly connection: Connection
  readonly namespace: string
  readonly limits: EventLogLimits
  readonly gate: Gate
  readonly health: Health
  readonly observer: EventLogObserver
}

interface Progress {
  tries: number
  sizeBytes: number
  outcome: AppendObservation['outcome']
}

/** One append with all its attempts: identical ids, bytes and revision each time. */
export async function appendEvents(
  deps: AppendDeps,
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
  deadlineMs: number,
): Promise<AppendResult> {
  const startedMs = monotonicClock.nowMs()
  const progress: Progress = { tries: 0, sizeBytes: 0, outcome: 'invalid' }
  try {
    const encoded = encodeAll(deps.limits, stream, events, progress)
    progress.outcome = 'unavailable'
    const leave = await deps.gate.enter(deadlineMs)
    try {
      const command = { stream: `${deps.namespace}${stream}`, events: encoded, expected }
      const untilMs = startedMs + deadlineMs
      return await tryUntil(deps, { stream, command, untilMs }, progress)
    } finally {
      leave()
    }
  } finally {
    deps.observer.appended?.({
      ...progress,
      events: events.length,
      durationMs: monotonicClock.nowMs() - startedMs,
    })
  }
}

function encodeAll(
  limits: EventLogLimits,
  stream: string,
  events: readonly NewEvent[],
  progress: Progress,
): readonly EncodedEvent[] {
  const [first] = events
  if (first === undefined || events.length > limits.maxAppendEvents)
    throw eventInvalid({
      type: first?.type ?? '',
      reason: `${events.length} events in one append, but 1 to ${limits.maxAppendEvents} are taken`,
    })
  if (new Set(events.map((event) => event.id)).size !== events.length)
    throw eventInvalid({ type: first.type, reason: 'an append has two events with the same id' })
  const encoded = events.map(encodeEvent)
  for (const event of encoded) progress.sizeBytes += event.sizeBytes
  if (progress.sizeBytes > limits.maxAppendBytes) {
    progress.outcome = 'too_large'
    throw appendTooLarge(stream, progress.sizeBytes, limits.maxAppendBytes)
  }
  return encoded
}

interface PreparedAppend {
  /** Name of the stream without the namespace, for errors. */
  readonly stream: string
  readonly command: AppendCommand
  readonly untilMs: number
}

async function tryUntil(
  deps: AppendDeps,
  append: PreparedAppend,
  progress: Progress,
): Promise<AppendResult> {
  const { limits, health } = deps
  const { stream, command, untilMs } = append
  const backoff = createBackoff(limits.backoffMinMs, limits.backoffMaxMs)
  let maybeAppended = false
  for (;;) {
    progress.tries += 1
    const leftMs = Math.max(1, untilMs - monotonicClock.nowMs())
    const answer = await deps.connection.append(command, Math.min(limits.appendTryMs, leftMs))
    if (answer.kind === 'success') {
      health.succeeded('append')
      progress.outcome = 'ok'
      const { revision, position } = answer
      return position === undefined ? { revision } : { revision, position }
    }
    if (answer.kind === 'denied') {
      health.denied('append', answer.reason)
      // The server denied this try; an earlier one may have been appended.
      progress.outcome = maybeAppended ? 'unknown' : 'unavailable'
      throw maybeAppended
        ? logOutcomeUnknown(stream, progress.tries, answer.reason)
        : logUnavailable(answer.reason)
    }
    if (answer.kind !== 'transport') throw definite(answer, append, progress)
    health.failed('append')
    maybeAppended ||= !answer.certain
    const pauseMs = backoff.nextMs()
    if (!answer.retry || monotonicClock.nowMs() + pauseMs >= untilMs) {
      progress.outcome = maybeAppended ? 'unknown' : 'unavailable'
      throw maybeAppended
        ? logOutcomeUnknown(stream, progress.tries, answer.reason)
        : logUnavailable(answer.reason)
    }
    await pause(pauseMs)
  }
}

function definite(
  failure: Exclude<TryFailure, { kind: 'transport' | 'denied' }>,
  append: PreparedAppend,
  progress: Progress,
): LogError {
  switch (failure.kind) {
    case 'wrong_revision':
      progress.outcome = 'wrong_expected_revision'
      return wrongExpectedRevision(append.stream, append.command.expected, failure.actual)
    case 'too_large':
      progress.outcome = 'too_large'
      return appendTooLarge(append.stream, progress.sizeBytes, failure.limitBytes)
    case 'damaged':
      progress.outcome = 'unavailable'
      return logUnavailable(failure.reason)
    case 'rejected':
      progress.outcome = 'invalid'
      return eventInvalid({ type: '', reason: failure.reason, stream: append.stream })
    default:
      return unreachable(failure)
  }
}

/** A bounded number of places and a bounded queue in front of them, first come first served. */
interface Gate {
  /** Waits for a place and returns the function that frees it. @throws `log_unavailable` */
  readonly enter: (maxWaitMs: number) => Promise<() => void>
}

export function createGate(places: number, maxQueued: number): Gate {
  let free = places
  const queue = new Set<() => void>()
  const leave = () => {
    const [next] = queue
    if (next === undefined) free += 1
    else {
      queue.delete(next)
      next()
    }
  }
  return {
    enter: (maxWaitMs) => {
      if (free > 0) {
        free -= 1
        return Promise.resolve(leave)
      }
      if (queue.size >= maxQueued)
        return Promise.reject(logUnavailable('too many appends are waiting'))
      return new Promise((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer)
          resolve(leave)
        }
        const timer = setTimeout(() => {
          queue.delete(admit)
          reject(logUnavailable('appends ahead took too long'))
        }, maxWaitMs)
        queue.add(admit)
      })
    },
  }
}
