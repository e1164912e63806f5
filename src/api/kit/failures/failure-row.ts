export type FailureStatus =
  | 400
  | 401
  | 402
  | 403
  | 404
  | 405
  | 409
  | 413
  | 415
  | 422
  | 429
  | 431
  | 500
  | 502
  | 503
  | 504
  | 507
  | 529

export interface FailureRow {
  readonly status: FailureStatus
  /** Message in plain words, without internal details. */
  readonly words: string
  /** Whether the error's own message is shown: it names the field or the value. */
  readonly ownWords?: boolean
  /**
   * Whether a client may retry automatically: `never` if a retry could do it twice or cannot help,
   * or after this many milliseconds. Absent: clients decide by the status.
   */
  readonly retry?: 'never' | number
}

/** Rows that may show the error's own message. */
export const own = (
  status: FailureStatus,
  words: string,
  retry?: FailureRow['retry'],
): FailureRow => ({
  status,
  words,
  ownWords: true,
  ...(retry === undefined ? {} : { retry }),
})
