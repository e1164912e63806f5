/** Minimum pause between two runs, which bounds what an attacker's unknown tokens cost the log. */
const LEAST_PAUSE_MS = 50

/**
 * Shares catch-ups among concurrent callers: each gets a run that began after its call, and at most
 * one runs at a time.
 */
export function createSharedCatchUp(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  const start = (): Promise<void> => {
    const started = run()
    // The next run waits for the pause, also after a failure.
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
