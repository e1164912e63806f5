import { monotonicClock } from '../../kernel/clock.ts'
import { createBackoff, pause } from '../../kernel/pause.ts'
import { decodeEvent, type WireEvent } from './codec.ts'
import { failureOf, type TryFailure } from './failure.ts'
import { isAnyBehind, isContentError, type ReadDeps } from './read.ts'
import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog } from '../../kernel/retry-log.ts'
import { eventsThrough, isBehind, isPlace, placeOf, type LogPosition } from './position.ts'
import type { EventLog, RecordedEvent, SubscriptionMessage, UnknownEvent } from './types.ts'
import { subscribeRequest } from './wire.ts'
import type { ReadAnswer } from './wire-read.ts'

interface SubscribeDeps extends ReadDeps {
  readonly logger: Log
}

/** A silent subscription counts as dead only if an event does not arrive within this time. */
const STALL_GRACE_MS = 1_000

/** Position of a subscription: everything up to there was handed over. */
interface Cursor {
  at: LogPosition | undefined
}

/**
 * Subscription to `$all` of the namespace, read on demand: after an error, a silent end or a stall
 * it continues after the last message handed over, so there is neither gap nor duplicate. Messages
 * keep the order in which the server sent them, so a checkpoint never overtakes an event.
 * @throws `event_invalid` when an event cannot be understood: never skipped without `onUnknown`;
 *   what `onOpened` throws
 */
export async function* subscribe(
  deps: SubscribeDeps,
  options: Parameters<EventLog['subscribe']>[0],
): AsyncGenerator<SubscriptionMessage, void, undefined> {
  const { limits, observer } = deps
  const retries = createRetryLog(deps.logger)
  const { signal } = options
  const backoff = createBackoff(limits.backoffMinMs, limits.backoffMaxMs)
  const cursor: Cursor = { at: options.from }
  const prefixes =
    options.streamPrefix === undefined
      ? deps.prefixes
      : [`${deps.namespace}${options.streamPrefix}`]
  const missed = new MissedEvents(deps, prefixes, cursor, options.onCurrent)
  while (!signal.aborted) {
    let reason = 'the server ended it'
    let failure: TryFailure | undefined
    let refused: unknown
    observer.subscription?.({ kind: 'opened' })
    try {
      for await (const batch of deps.connection.pull(subscribeRequest(prefixes, cursor.at), {
        signal,
        idleMs: limits.idleCheckMs,
        onIdle: () => missed.isStalled(),
      })) {
        if (batch.length > 0) {
          backoff.reset()
          retries.worked()
        }
        for (const answer of batch) {
          if (answer.kind === 'confirmation')
            await options.onOpened?.().catch((error: unknown) => {
              refused = isDomainError(error, 'log_unavailable') ? undefined : error
              throw error
            })
          const message = messageOf(deps, answer, cursor, options.onUnknown)
          if (message === undefined) continue
          yield message
          if (signal.aborted) return
        }
        missed.look()
      }
    } catch (error) {
      if (refused !== undefined) throw refused
      if (isContentError(error) && !isDomainError(error, 'log_unavailable')) throw error
      reason = error instanceof Error ? error.message : String(error)
      failure = failureOf(error)
    }
    if (signal.aborted) return
    // No later event can be had before a damaged one.
    if (failure?.kind === 'denied' || failure?.kind === 'damaged')
      deps.health.denied('read', reason)
    else deps.health.failed('read')
    observer.subscription?.({ kind: 'dropped', reason })
    retries.failed({ reason, position: String(cursor.at?.commit) }, 'log subscription dropped')
    await pause(backoff.nextMs(), signal)
  }
}

function messageOf(
  deps: SubscribeDeps,
  answer: ReadAnswer,
  cursor: Cursor,
  onUnknown: ((event: UnknownEvent) => void) | undefined,
): SubscriptionMessage | undefined {
  switch (answer.kind) {
    case 'event': {
      if (cursor.at !== undefined && answer.event.position <= eventsThrough(cursor.at))
        return undefined
      const event = decoded(deps, answer.event, onUnknown)
      cursor.at = placeOf(answer.event.position)
      if (event === undefined) return undefined
      return { kind: 'event', event }
    }
    case 'checkpoint': {
      const { at } = answer
      if (!isPlace(at) || (cursor.at !== undefined && !isBehind(at, cursor.at))) return undefined
      cursor.at = at
      return { kind: 'checkpoint', at }
    }
    case 'confirmation':
      deps.health.succeeded('read')
      return undefined
    case 'caughtUp':
      deps.observer.subscription?.({ kind: 'caught_up' })
      return { kind: 'caughtUp' }
    case 'streamNotFound':
    case 'other':
      return undefined
  }
}

/**
 * The event; undefined if the program does not understand it and `onUnknown` accepted that. @throws
 * `event_invalid`
 */
function decoded(
  { namespace }: SubscribeDeps,
  event: WireEvent,
  onUnknown: ((event: UnknownEvent) => void) | undefined,
): RecordedEvent | undefined {
  if (onUnknown === undefined) return decodeEvent(event, namespace)
  try {
    return decodeEvent(event, namespace)
  } catch (error) {
    if (!isContentError(error)) throw error
    const { id, type, position } = event
    onUnknown({ id, type, position, stream: event.stream.slice(namespace.length) })
    return undefined
  }
}

/** Asks the log whether it has events behind those handed over; events outside the prefixes do not count. */
class MissedEvents {
  readonly #deps: SubscribeDeps
  readonly #prefixes: readonly string[]
  readonly #cursor: Cursor
  readonly #onCurrent: ((agoMs: number) => void) | undefined
  #askedMs = Number.NEGATIVE_INFINITY

  constructor(
    deps: SubscribeDeps,
    prefixes: readonly string[],
    cursor: Cursor,
    onCurrent: ((agoMs: number) => void) | undefined,
  ) {
    this.#deps = deps
    this.#prefixes = prefixes
    this.#cursor = cursor
    this.#onCurrent = onCurrent
  }

  /** After a silence: whether the subscription did not get an event, or the log does not answer at all. */
  async isStalled(): Promise<boolean> {
    const before = this.#cursor.at
    const found = await this.#ask()
    if (found === 'no answer') return true
    if (found === 'none') return false
    await pause(Math.min(STALL_GRACE_MS, this.#deps.limits.idleCheckMs))
    const stalled = this.#cursor.at === before
    if (stalled) this.#deps.observer.subscription?.({ kind: 'stalled' })
    return stalled
  }

  /** A busy log gives no silence, so that it is asked after messages too. They do not wait for the answer. */
  look(): void {
    const sinceMs = monotonicClock.nowMs() - this.#askedMs
    if (this.#onCurrent !== undefined && sinceMs >= this.#deps.limits.idleCheckMs) void this.#ask()
  }

  async #ask(): Promise<'some' | 'none' | 'no answer'> {
    const askedMs = monotonicClock.nowMs()
    this.#askedMs = askedMs
    try {
      if (await isAnyBehind(this.#deps, this.#prefixes, this.#cursor.at)) return 'some'
    } catch {
      return 'no answer'
    }
    this.#onCurrent?.(monotonicClock.nowMs() - askedMs)
    return 'none'
  }
}
