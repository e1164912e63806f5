/** Every bound of the event log client (P10). Units are in the names. */
export interface EventLogLimits {
  /** One append, including all attempts and the wait for a free place. */
  readonly appendDeadlineMs: number
  /** One attempt of an append; its outcome is unknown afterwards. */
  readonly appendTryMs: number
  /** One page of a read, or the answer to a single question. */
  readonly readTryMs: number
  /** One page of a read, including all attempts. */
  readonly readDeadlineMs: number
  /** First pause between tries; it doubles up to `backoffMaxMs`. */
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
  /** Maximum number of running appends; further ones wait. */
  readonly maxConcurrentAppends: number
  /** Appends waiting for a place; more are refused as `log_unavailable`. */
  readonly maxQueuedAppends: number
  /** Serialised events of one append; the server takes 1 MiB including its own framing. */
  readonly maxAppendBytes: number
  readonly maxAppendEvents: number
  /** Events asked for in one page of a stream. */
  readonly readPageEvents: number
  /** A stream longer than this is a defect of its aggregate and is refused. */
  readonly maxStreamEvents: number
  /** The silence after which a subscription checks whether it missed an event. */
  readonly idleCheckMs: number
  /** Failed tries in a row after which the log counts as unhealthy. */
  readonly unhealthyAfterFailures: number
  /** Pause between probes while unhealthy. */
  readonly probeIntervalMs: number
  /** One probe; longer than an append takes on a busy log, shorter than a caller wants to wait. */
  readonly probeTryMs: number
  /** How long new callers wait for the end of an outage, counted from its first failure. */
  readonly outagePatienceMs: number
  /** The most callers that wait for that; more are refused. */
  readonly maxWaitingCallers: number
}

export const defaultLimits: EventLogLimits = {
  appendDeadlineMs: 8_000,
  appendTryMs: 3_000,
  readTryMs: 3_000,
  readDeadlineMs: 8_000,
  backoffMinMs: 25,
  backoffMaxMs: 1_000,
  maxConcurrentAppends: 128,
  maxQueuedAppends: 8_192,
  maxAppendBytes: 1_000_000,
  maxAppendEvents: 2_000,
  readPageEvents: 500,
  maxStreamEvents: 200_000,
  idleCheckMs: 5_000,
  unhealthyAfterFailures: 2,
  probeIntervalMs: 250,
  probeTryMs: 1_000,
  outagePatienceMs: 2_500,
  maxWaitingCallers: 1_000,
}
