/**
 * Announces commits to the followers of the log. An announcement costs each follower a look at the log and
 * each reader a turn of its event loop, so commits that follow each other share one.
 */

import { type Clock, monotonicClock } from '../../../src/kernel/clock.ts'
import { GATHER_EVENTS, GATHER_MS } from './limits.ts'

export class Announcer {
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #announcedMs = Number.NEGATIVE_INFINITY
  #gatheredEvents = 0
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock
  }

  /** Calls the listener at every announcement until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Announces a commit: at once after a quiet time, and otherwise with those that follow it. */
  committed(events: number): void {
    if (events === 0) return
    this.#gatheredEvents += events
    const restMs = this.#announcedMs + GATHER_MS - this.#clock.nowMs()
    if (restMs <= 0 || this.#gatheredEvents >= GATHER_EVENTS) this.announce()
    else this.#timer ??= setTimeout(() => this.announce(), restMs)
  }

  announce(): void {
    this.stop()
    this.#announcedMs = this.#clock.nowMs()
    this.#gatheredEvents = 0
    for (const listener of this.#listeners) listener()
  }

  /** Forgets what was not announced. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
