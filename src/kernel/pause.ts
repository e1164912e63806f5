import { randomlyScaled, systemRandom, type Random } from './random.ts'

/** Pauses that double from `minMs` to `maxMs`, each spread over its upper half. */
interface Backoff {
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
      const pauseMs = randomlyScaled(baseMs, 0.5, 1, random)
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
    if (ms <= 0 || signal?.aborted === true) {
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

/** Ends pauses early. */
export interface Alarm {
  /** Ends the pauses of now; a ring without a pause is lost. */
  readonly ring: () => void
  /** Resolves after a pause, or at once when the signal aborts or the alarm rings. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

export function createAlarm(): Alarm {
  let rung = new AbortController()
  return {
    ring: () => {
      rung.abort()
      rung = new AbortController()
    },
    pause: (ms, signal) => pause(ms, AbortSignal.any([signal, rung.signal])),
  }
}

/**
 * The result of a promise, or of `late` if the promise takes longer; a later rejection is left to
 * the promise's next awaiter.
 */
export async function withTimeout<Value, Late>(
  ms: number,
  work: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    return await Promise.race([work, over.then(late)])
  } finally {
    clearTimeout(timer)
  }
}
