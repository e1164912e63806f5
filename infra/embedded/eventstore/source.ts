/** What a subscription reads, and its position in it. */
export interface Source {
  /** Whether it begins at the end: nothing is caught up with. */
  readonly isAtEnd: boolean
  /**
   * The next page up to the end of the log, or that the end is reached, or that the stream does not
   * exist.
   */
  readonly catchUp: () => Promise<readonly Buffer[] | 'end' | 'missing'>
  /** Messages to send on having caught up. */
  readonly goLive: () => readonly Buffer[]
  /** The messages of what was committed since, at most a page; undefined when there is no more. */
  readonly follow: () => Promise<readonly Buffer[] | undefined>
  /** Everything followed was sent. */
  readonly markSent: () => void
  /**
   * Forgets what was followed but not sent; catching up goes on there. Returns messages to send.
   */
  readonly fallBehind: () => readonly Buffer[]
}
