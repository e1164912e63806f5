import { runForAll } from '../../src/platform/sharer-context.ts'
import { monotonicClock } from '../../src/kernel/clock.ts'
import { pause } from '../../src/kernel/pause.ts'
import { readCheckpoints } from './checkpoint.ts'
import type { Queryable } from './queryable.ts'

/**
 * Waiting for a projection to have considered an event. All waiters on one database share one
 * statement at a time; without waiters nothing is queried.
 */

/**
 * The channel of Postgres on which a waiter asks the leader to apply pending events immediately.
 */
export const WANTED_CHANNEL = 'tollgate_projections_wanted'

/** Minimum time between the starts of two look-ups. */
const LOOK_EVERY_MS = 20

interface Waiter {
  readonly name: string
  readonly position: bigint
  readonly untilMs: number
  readonly resolve: (isReached: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Notifies every waiter on a database. */
class PositionWatch {
  readonly #db: Queryable
  #waiting: readonly Waiter[] = []
  #isLooking = false
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(db: Queryable) {
    this.#db = db
  }

  wait(name: string, position: bigint, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const untilMs = monotonicClock.nowMs() + timeoutMs
      this.#waiting = [...this.#waiting, { name, position, untilMs, resolve, reject }]
      if (!this.#isLooking) void runForAll(() => this.#look())
    })
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    while (this.#waiting.length > 0) {
      await pause(this.#restMs())
      this.#lookedMs = monotonicClock.nowMs()
      // A waiter that arrives during a query waits for the next one: this result may be older.
      const asking = this.#waiting
      this.#waiting = []
      try {
        const late = await this.#answer(asking)
        this.#waiting = [...late, ...this.#waiting]
      } catch (error) {
        for (const { reject } of asking) reject(error)
      }
    }
    this.#isLooking = false
  }

  /** Until the next look: sooner when a waiter's timeout comes first. */
  #restMs(): number {
    const firstMs = Math.min(...this.#waiting.map(({ untilMs }) => untilMs))
    const nowMs = monotonicClock.nowMs()
    return Math.min(this.#lookedMs + LOOK_EVERY_MS - nowMs, Math.max(1, firstMs - nowMs))
  }

  /**
   * Resolves the waiters whose wait is over; returns the others, for which the leader is asked to
   * hurry.
   */
  async #answer(asking: readonly Waiter[]): Promise<readonly Waiter[]> {
    const checkpoints = await readCheckpoints(this.#db)
    const nowMs = monotonicClock.nowMs()
    const late = asking.filter(({ name, position, untilMs, resolve }) => {
      const isReached = (checkpoints.get(name)?.position ?? -1n) >= position
      if (!isReached && nowMs < untilMs) return true
      resolve(isReached && checkpoints.has(name))
      return false
    })
    // Repeated with each look: the event may have reached the leader after the last one. Without it the leader
    // applies the event a little later.
    if (late.length > 0)
      await this.#db.query(`select pg_notify('${WANTED_CHANNEL}', '')`).catch(() => undefined)
    return late
  }
}

/** Waiters by database; the entry is collected with it. */
const watches = new WeakMap<Queryable, PositionWatch>()

/**
 * Waits until a projection has considered the event at `position`, at most `timeoutMs`. False when
 * it has not by then. @throws what the database throws
 */
export function waitForPosition(
  db: Queryable,
  name: string,
  position: bigint,
  timeoutMs: number,
): Promise<boolean> {
  let watch = watches.get(db)
  if (watch === undefined) {
    watch = new PositionWatch(db)
    watches.set(db, watch)
  }
  return watch.wait(name, position, timeoutMs)
}
