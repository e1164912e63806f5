import { type Clock, monotonicClock } from './clock.ts'
import { createLru } from './lru.ts'

/** How long a name that was not found is assumed to be absent. */
const ABSENT_FOR_MS = 2_000
/** Names remembered; the oldest are forgotten first. */
const MAX_NAMES = 10_000

/**
 * Remembers for a moment which names were not found, so that a caller that repeats one causes no
 * further look-up.
 */
export class Absences {
  readonly #since = createLru<string, number>(MAX_NAMES)
  readonly #clock: Clock

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock
  }

  has(name: string): boolean {
    const sinceMs = this.#since.get(name)
    return sinceMs !== undefined && this.#clock.nowMs() - sinceMs < ABSENT_FOR_MS
  }

  add(name: string): void {
    this.#since.set(name, this.#clock.nowMs())
  }

  /** The name is there from now on. */
  delete(name: string): void {
    this.#since.delete(name)
  }
}
