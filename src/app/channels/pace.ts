import type { Clock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'

/** Bounds on requests to one channel: concurrent ones, and starts per second. */
export interface Pace {
  /** Waits for a turn, runs, frees the place. Rejects when the signal aborts the wait. */
  readonly run: <Result>(signal: AbortSignal, work: () => Promise<Result>) => Promise<Result>
  /** Runs now or returns undefined when every turn is taken. */
  readonly tryRun: <Result>(work: () => Promise<Result>) => Promise<Result> | undefined
}

/**
 * At most `concurrent` running calls and `perSecond` starts per second, evenly spaced after a burst
 * of at most `burst`. Turns are first come, first served.
 */
export function createPace(
  limits: { readonly concurrent: number; readonly perSecond: number; readonly burst?: number },
  clock: Clock,
): Pace {
  const spacingMs = 1_000 / limits.perSecond
  const toleranceMs = ((limits.burst ?? 1) - 1) * spacingMs
  const places = new Places(limits.concurrent)
  /** Time at which the next call would begin if all were evenly spaced. */
  let nextMs = 0

  /** Takes the next start; returns the milliseconds until it. */
  const takeStart = (): number => {
    const nowMs = clock.nowMs()
    const startMs = Math.max(nextMs, nowMs - toleranceMs)
    nextMs = startMs + spacingMs
    return startMs - nowMs
  }
  const guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work()
    } finally {
      places.leave()
    }
  }
  return {
    run: async (signal, work) => {
      signal.throwIfAborted()
      await places.enter(signal)
      return guarded(async () => {
        await pause(takeStart(), signal)
        signal.throwIfAborted()
        return work()
      })
    },
    tryRun: (work) => {
      if (nextMs > clock.nowMs() || !places.tryEnter()) return undefined
      takeStart()
      return guarded(work)
    },
  }
}

/** A bounded number of places, and the queue of requests that wait for one. */
class Places {
  readonly #count: number
  #taken = 0
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#count = count
  }

  tryEnter(): boolean {
    if (this.#taken >= this.#count) return false
    this.#taken += 1
    return true
  }

  /** Waits for a place. Rejects when the signal aborts first. */
  enter(signal: AbortSignal): Promise<void> {
    if (this.tryEnter()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        signal.removeEventListener('abort', abandon)
        resolve()
      }
      const abandon = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        reject(new Error('stopped while waiting for a turn'))
      }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(turn)
    })
  }

  leave(): void {
    const next = this.#waiting.shift()
    // The place goes to the request that waited longest.
    if (next === undefined) this.#taken -= 1
    else next()
  }
}
