import { spread, systemRandom, type Random } from './random.ts'

/** Pauses that double from `minMs` to `maxMs`, each spread over its upper half. */
export interface Backoff {
  readonly nextMs: () => number
  readonly reset: () => void
}

export function createBackoff(
  minMs: number,
  maxMs: number,
  random: Random = systemRandom,
): Backoff {
  let baseMs = minMs
  return {
    nextMs: () => {
      const pauseMs = spread(baseMs, 0.5, 1, random)
      baseMs = Math.min(baseMs * 2, maxMs)
      return pauseMs
    },
    reset: () => {
      baseMs = minMs
    },
  }
}

/** Resolves after a pause, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve()
      return
    }
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
