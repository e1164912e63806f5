/** Every bound of the journal (P10). */
export interface JournalLimits {
  readonly maxBatchEvents: number
  readonly maxBatchBytes: number
  readonly maxQueuedEvents: number
  readonly maxQueuedBytes: number
  /** Events after which the next batch goes to a new stream. */
  readonly rotateAfterEvents: number
  /** How long an append may take before its batch goes to the spool (or is refused without one). */
  readonly spoolAfterMs: number
  /**
   * How long batches go straight to the spool before the gateway tries the log again, unless it
   * answers earlier.
   */
  readonly logRetryMs: number
  /** The size of one append of spooled batches. */
  readonly maxDrainBytes: number
  readonly maxDrainEvents: number
  /**
   * The number of records kept to recognise a repetition, which would come from the call that recorded it first. Each
   * takes 260 bytes and outlives the young generation.
   */
  readonly maxRemembered: number
}

export const defaultJournalLimits: JournalLimits = {
  maxBatchEvents: 500,
  maxBatchBytes: 512 << 10,
  maxQueuedEvents: 20_000,
  maxQueuedBytes: 64 << 20,
  rotateAfterEvents: 10_000,
  spoolAfterMs: 3_000,
  // Longer than the gateway needs to recognise an unavailable log by a failing append.
  logRetryMs: 5_000,
  maxDrainBytes: 512 << 10,
  maxDrainEvents: 1_000,
  maxRemembered: 5_000,
}
