/** The events that a subscription reads, and its position in them. */
export interface Source {
  /** Whether it begins at the end: it does not catch up with earlier events. */
  readonly isAtEnd: boolean
  /**
   * The next page up to the end of the log, or that the end is reached, or that the stream does not
   * exist.
   */
  readonly catchUp: () => Promise<readonly Buffer[] | 'end' | 'missing'>
  /** Messages to send on having caught up. */
  readonly goLive: () => readonly Buffer[]
  /** Messages of newly committed events, at most a page; undefined when there are no more. */
  readonly follow: () => Promise<readonly Buffer[] | undefined>
  /** Everything followed was sent. */
  readonly markSent: () => void
  /** Forgets followed but unsent events; catching up continues there. Returns messages to send. */
  readonly fallBehind: () => readonly Buffer[]
}
