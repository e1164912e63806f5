import type { AnyEvent, StreamPrefix } from '../../domain/any-event.ts'
import type { DomainEvent } from '../../domain/decider.ts'
import type { LogPosition } from './position.ts'

/** Travels beside every event's data; never secret (P7). */
export interface EventMetadata {
  readonly schemaVersion: number
  /** The request id (or the name and run of a policy) that led to this event. */
  readonly correlationId: string
  /** The command: with the stream and an index it determines the event id. */
  readonly commandId: string
  readonly causationId?: string
  readonly tenantId?: string
  readonly tokenId?: string
  /** Actor, for acts of operators and for acts of the program on their behalf. */
  readonly actor?: string
}

export type NewEvent<E extends DomainEvent = AnyEvent> = E & {
  readonly id: string
  readonly metadata: EventMetadata
}

/** `stream` is without the namespace prefix. */
export type RecordedEvent<E extends DomainEvent = AnyEvent> = E & {
  readonly id: string
  readonly metadata: EventMetadata
  readonly stream: string
  readonly revision: bigint
  /** Commit position in `$all`: unique per event, strictly increasing. */
  readonly position: bigint
  readonly recordedAt: Date
}

export type ExpectedRevision = bigint | 'no_stream' | 'any'

export interface AppendResult {
  /** Revision of the last event of the append. */
  readonly revision: bigint
  /** Absent when the log answers an idempotent repetition without one. */
  readonly position?: bigint
}

export interface ReadOptions {
  /** A revision, inclusive. */
  readonly from?: bigint
  readonly limit?: number
  readonly signal?: AbortSignal
}

export interface ReadAllOptions {
  /** Exclusive. */
  readonly from?: LogPosition
  readonly limit?: number
  readonly signal?: AbortSignal
}

/** An event that this program does not understand: a newer release has written it. */
export type UnknownEvent = Pick<RecordedEvent, 'id' | 'stream' | 'position'> & {
  readonly type: string
}

export type SubscriptionMessage =
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  /** Everything up to here was checked and delivered before this message. */
  | { readonly kind: 'checkpoint'; readonly at: LogPosition }
  | { readonly kind: 'caughtUp' }

/**
 * The log as the program sees it: namespaced, validated, with bounded retries of the identical
 * append. Codes thrown: `log_unavailable`, `log_outcome_unknown`, `wrong_expected_revision`,
 * `append_too_large`, `event_invalid`.
 */
export interface EventLog {
  /**
   * Appends atomically. A lost answer is retried with the identical ids at the identical revision
   * until its deadline; then `log_outcome_unknown` (it may or may not be there).
   */
  readonly append: (
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: { readonly deadlineMs?: number },
  ) => Promise<AppendResult>
  /** The stream's events in order; an empty list for an unknown stream. */
  readonly readStream: (stream: string, options?: ReadOptions) => Promise<readonly RecordedEvent[]>
  /** `$all` of our namespace in order, exclusive of `from`; ends at the end of the log. */
  readonly readAll: (options?: ReadAllOptions) => AsyncIterable<RecordedEvent>
  /**
   * Position of the gateway's last event, or the position that `passed` reached if no event is
   * behind it; undefined in an empty log.
   */
  readonly endPosition: () => Promise<bigint | undefined>
  /** Everything up to there was read: the search for the end need not start before it. */
  readonly passed: (at: LogPosition) => void
  /**
   * Live `$all` of our namespace, exclusive of `from`. Survives errors and silent ends by
   * resubscribing with backoff; ends only when the signal aborts.
   */
  readonly subscribe: (options: {
    readonly from?: LogPosition
    /** Only streams whose name begins so; filtered by the server. */
    readonly streamPrefix?: StreamPrefix
    /**
     * Called with an event that the program cannot decode; the subscription continues. Only for
     * readers that store nothing of their events: without it such an event ends the subscription,
     * because a read model never skips an event.
     */
    readonly onUnknown?: (event: UnknownEvent) => void
    /**
     * Called each time a server has accepted the subscription, before any message is handed over:
     * after a restart the store may hold another log. While it throws `log_unavailable` the
     * subscription is tried again; any other failure ends it.
     */
    readonly onOpened?: () => Promise<unknown>
    /**
     * Called about every `idleCheckMs` while the log answers: all events of these streams that were in the log
     * so many milliseconds ago have been handed over.
     */
    readonly onCurrent?: (agoMs: number) => void
    readonly signal: AbortSignal
  }) => AsyncIterable<SubscriptionMessage>
  /** Whether the last calls worked: while false, no new work is admitted (P9). */
  readonly healthy: () => boolean
  /**
   * Called before new work is accepted: resolves while the log is healthy. In the first moments of
   * an outage a bounded number of callers waits for its end, later callers do not wait. Every other
   * call of this log, except `readAll` and `subscribe`, waits in the same way first. @throws
   * `log_unavailable`
   */
  readonly ready: () => Promise<void>
  /**
   * Why the log cannot be used although it answers, as a verb phrase: only the operator can change
   * that.
   */
  readonly denial: () => string | undefined
  /**
   * Tries every kind of call that the gateway's account needs. @throws `log_access_denied` naming
   * the right that is missing, `log_unavailable`
   */
  readonly checkAccess: () => Promise<Date | undefined>
  readonly close: () => Promise<void>
}

/** Reports of the log client to metrics; every member is optional and must not throw. */
export interface EventLogObserver {
  readonly appended?: (append: AppendObservation) => void
  readonly read?: (read: {
    readonly outcome: 'ok' | 'failed'
    readonly events: number
    readonly durationMs: number
  }) => void
  readonly subscription?: (change: {
    readonly kind: 'opened' | 'caught_up' | 'dropped' | 'stalled'
    readonly reason?: string
  }) => void
  readonly healthChanged?: (healthy: boolean) => void
}

export interface AppendObservation {
  readonly outcome:
    | 'ok'
    | 'unavailable'
    | 'unknown'
    | 'wrong_expected_revision'
    | 'too_large'
    | 'invalid'
  readonly events: number
  readonly sizeBytes: number
  readonly tries: number
  readonly durationMs: number
}
