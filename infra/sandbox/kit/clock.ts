import { type Clock, systemClock } from '../../../src/kernel/clock.ts'

/** The machine's clock plus an offset a test may move forward, never back. */
export interface MovableClock extends Clock {
  /** Moves time forward; at most ten years in all. @throws RangeError otherwise. */
  readonly advance: (byMs: number) => void
  readonly offsetMs: () => number
}

const MAX_OFFSET_MS = 10 * 365 * 86_400_000

/** A clock that starts at the machine's time. */
export function movableClock(): MovableClock {
  let offsetMs = 0
  return {
    nowMs: () => systemClock.nowMs() + offsetMs,
    offsetMs: () => offsetMs,
    advance: (byMs) => {
      if (!Number.isSafeInteger(byMs) || byMs < 0 || offsetMs + byMs > MAX_OFFSET_MS) {
        throw new RangeError('advance_ms must be a whole number of milliseconds, at most ten years')
      }
      offsetMs += byMs
    },
  }
}
