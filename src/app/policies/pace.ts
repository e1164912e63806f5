import type { Clock } from '../../kernel/clock.ts'

/** Bounds on what one channel is asked: how many at once, and how many a second. */
export interface Pace {
  /** Waits for a turn, runs, frees the place. Rejects when the signal aborts while waiting. */
  readonly run: <Result>(signal: AbortSignal, work: () => Promise<Result>) => Promise<Result>
}

/**
 * At most `concurrent` at once and `perSecond` begun a second, evenly spaced after a burst of at
 * most `burst`. Turns are given in the order they were asked for.
 */
export function createPace(
  limits: { readonly concurrent: number; readonly perSecond: number; readonly burst?: number },
  clock: Clock,
): Pace {
  const spacingMs = 1_000 / limits.perSecond
  const burst = limits.burst ?? 1
  let nextFreeMs = 0
  let running = 0
  const waiting: (() => void)[] = []

  const enter = async (signal: AbortSignal): Promise<void> => {
    if (running >= limits.concurrent) {
      await new Promise<void>((resolve, reject) => {
        const turn = (): void => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const leave = (): void => {
          waiting.splice(waiting.indexOf(turn), 1)
          reject(new Error('stopped while waiting for a turn'))
        }
        signal.addEventListener('abort', leave, { once: true })
        waiting.push(turn)
      })
    } else running += 1
    const nowMs = clock.nowMs()
    const startMs = Math.max(nextFreeMs, nowMs - (burst - 1) * spacingMs)
    nextFreeMs = startMs + spacingMs
    if (startMs > nowMs) await sleep(startMs - nowMs, signal)
  }
  const leave = (): void => {
    const next = waiting.shift()
    // The place goes on to whoever waited longest.
    if (next === undefined) running -= 1
    else next()
  }
  return {
    run: async (signal, work) => {
      signal.throwIfAborted()
      await enter(signal)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

/** Waits; wakes early when the signal aborts. Never rejects. */
export function sleep(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || waitMs <= 0) return resolve()
    const timer = setTimeout(done, waitMs)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
