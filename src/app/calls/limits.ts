/** Every bound of synchronous calls and their streams (P10); those of a channel are with the channel. */
export interface CallLimits {
  /** Calls in flight in this process, drained ones included; more are refused as `overloaded`. */
  readonly maxCalls: number
  /** Channels tried for one call. */
  readonly maxAttempts: number
  /** UTF-16 units of frames held back until a stream is settled; more than the largest frame there is. */
  readonly maxWithheldBytes: number
  /** A caller who takes no frame for this long counts as gone. */
  readonly consumerStallMs: number
  /** How long and how far a stream is read on after its caller has gone, unless its channel says. */
  readonly drainTimeoutMs: number
  readonly drainMaxBytes: number
  /** Failed calls waiting to be written down, all of those in flight at once; more are only counted. */
  readonly maxPendingFailures: number
}

export const defaultCallLimits: CallLimits = {
  maxCalls: 8_000,
  maxAttempts: 3,
  maxWithheldBytes: 32 << 20,
  consumerStallMs: 120_000,
  drainTimeoutMs: 60_000,
  drainMaxBytes: 4 << 20,
  maxPendingFailures: 8_000,
}
