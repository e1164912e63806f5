import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000

/** Growing pauses between attempts, with jitter, until something works again. */
export interface Backoff {
  /** Waits, or returns at once when the signal aborts. */
  readonly pause: (signal: AbortSignal) => Promise<void>
  readonly reset: () => void
}

/** Pauses from 0.2 s doubling to 10 s, each shortened at random by up to half. */
export function createBackoff(): Backoff {
  let pauseMs = FIRST_PAUSE_MS
  return {
    pause: async (signal) => {
      const jittered = pauseMs * (0.5 + Math.random() / 2)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      await sleepUntil(jittered, signal)
    },
    reset: () => {
      pauseMs = FIRST_PAUSE_MS
    },
  }
}

/** Waits, or returns early without an error when the signal aborts. */
export async function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
