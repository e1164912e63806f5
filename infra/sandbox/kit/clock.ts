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

/** A number in [0, 1). */
export type Random = () => number

/** A seeded generator (mulberry32): the same seed gives the same run. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** An integer in [0, below). */
export function randomInteger(random: Random, below: number): number {
  return Math.floor(random() * below)
}

/** `length` base-36 digits. */
export function randomBase36(random: Random, length: number): string {
  let text = ''
  for (let i = 0; i < length; i += 1) text += randomInteger(random, 36).toString(36)
  return text
}

/** `length` lower-case hexadecimal digits. */
export function randomHex(random: Random, length: number): string {
  let text = ''
  for (let i = 0; i < length; i += 1) text += randomInteger(random, 16).toString(16)
  return text
}

/** Makes ids that are new in this process and, unless the seed is given, in any other. */
export class IdMaker {
  readonly #start: string
  #made = 0

  constructor(random: Random) {
    this.#start = randomBase36(random, 12)
  }

  /** The prefix and 20 base-36 digits. */
  next(prefix: string): string {
    this.#made += 1
    return prefix + this.#start + this.#made.toString(36).padStart(8, '0')
  }
}
