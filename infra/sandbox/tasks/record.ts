/** Where a task stands; a family says it in its own words. */
export type Phase = 'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled'

/** Everything decided about a task at the moment it is accepted; times are lengths in ms. */
export interface TaskPlan {
  /** null: it never leaves the queue. */
  readonly queuedMs: number | null
  /** null: it never ends. */
  readonly runningMs: number | null
  readonly outcome: 'succeeded' | 'failed' | 'expired'
  /** The family's error code, when `outcome` is `failed`. */
  readonly failCode: string | null
  /** Expires this long after acceptance; null: never. */
  readonly expiresMs: number | null
  /** A status no document names, reported for the first half of running. */
  readonly strangeStatus: string | null
  /** The record vanishes this long after its success; null: it stays. */
  readonly goneMs: number | null
  readonly callback: CallbackPlan | null
}

/** Where a task's callbacks go and how they misbehave. */
export interface CallbackPlan {
  readonly url: string
  /** Each delivery is made this many times. */
  readonly copies: number
  /** `running` is delivered after the end instead of before it. */
  readonly reorder: boolean
}

/** What is written down, once, before a create is answered. Holds no prompt, media or credential. */
export interface TaskRecord {
  readonly seq: number
  readonly id: string
  readonly family: string
  readonly acceptedAtMs: number
  /** The upstream's versioned name. */
  readonly model: string
  /** The name as it was asked for. */
  readonly requestedModel: string
  readonly safetyIdentifier: string | null
  readonly clientMarker: string | null
  /** First 12 hex digits of the SHA-256 of the credential: which account made it. */
  readonly credential: string
  readonly plan: TaskPlan
  /** What a success reports, in the family's shape; null: it reports none. */
  readonly usage: unknown
  /** What later queries report instead; null: the same. */
  readonly usageLater: unknown
  /** What else the family needs to render answers. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** The only changes a record can see; all else follows from the clock. */
export interface TaskMarks {
  readonly cancelledAtMs: number | null
  readonly deletedAtMs: number | null
  /** First time a query was told of the success. */
  readonly toldAtMs: number | null
  /** The end was acknowledged by the callback's receiver. */
  readonly endAcknowledged: boolean
}

export const NO_MARKS: TaskMarks = {
  cancelledAtMs: null,
  deletedAtMs: null,
  toldAtMs: null,
  endAcknowledged: false,
}
