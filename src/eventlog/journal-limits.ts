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
  /** Records remembered so that the same one twice is written once. */
  readonly maxRemembered: number
}

export const defaultJournalLimits: JournalLimits = {
  maxBatchEvents: 500,
  maxBatchBytes: 512 << 10,
  maxQueuedEvents: 20_000,
  maxQueuedBytes: 64 << 20,
  rotateAfterEvents: 10_000,
  spoolAfterMs: 3_000,
  maxRemembered: 50_000,
}
