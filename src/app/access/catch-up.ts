/** Between two runs at least this: an attacker's unknown tokens cost the log no more than that. */
const LEAST_PAUSE_MS = 50

/**
 * Shares a catching-up among all who ask: each gets a run that began after it asked, and at most
 * one runs at a time.
 */
export function createSharedCatchUp(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  const start = (): Promise<void> => {
    const started = run()
    // Failed or not, the place is held for the pause.
    running = Promise.allSettled([
      started,
      new Promise((resolve) => setTimeout(resolve, LEAST_PAUSE_MS)),
    ]).then(() => {
      running = undefined
    })
    return started
  }

  return () => {
    if (running === undefined) return start()
    next ??= running.then(() => {
      next = undefined
      return start()
    })
    return next
  }
}
