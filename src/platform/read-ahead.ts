import { type Clock, monotonicClock } from '../kernel/clock.ts'
import { createLru } from '../kernel/lru.ts'
import { runForAll } from './sharer-context.ts'

/** After a failed read of a key the next one begins no sooner than this. */
const RETRY_AFTER_MS = 100
/** Keys whose last read failed; one that is evicted may be read again sooner. */
const MAX_FAILED = 10_000

/** Rounds of a periodic renewal, about a second each, in which an unused value is still renewed. */
const ROUNDS_AFTER_USE = 10

/** A failed read of a key. */
interface Failure {
  readonly error: unknown
  readonly atMs: number
}

/**
 * Renews values before they are too old, so that no caller waits for a periodic read: a caller waits only
 * for a value that is absent or too old. A key has one read at a time, which all who wait for it share.
 *
 * The owner keeps the values and knows their age. A failure is thrown to the callers that wait, and what
 * they do then is theirs to say; a value that is still valid is used meanwhile.
 */
export class ReadAhead<Value> {
  readonly #validForMs: number
  readonly #renewAfterMs: number
  readonly #read: (key: string) => Promise<Value>
  readonly #clock: Clock
  readonly #reading = new Map<string, Promise<Value>>()
  readonly #failed = createLru<string, Failure>(MAX_FAILED)

  constructor(options: {
    /** A value this old is waited for. */
    readonly validForMs: number
    /** A value this old is read again while callers go on with it. */
    readonly renewAfterMs: number
    /** Reads the value of a key; its owner keeps the result before this resolves. */
    readonly read: (key: string) => Promise<Value>
    /** Only durations are measured with it, so it must be monotonic. */
    readonly clock?: Clock
  }) {
    this.#validForMs = options.validForMs
    this.#renewAfterMs = options.renewAfterMs
    this.#read = options.read
    this.#clock = options.clock ?? monotonicClock
  }

  /**
   * The read that a caller must wait for; undefined while the value is valid, which costs a comparison and
   * makes no promise. @param ageMs of the value; infinite where there is none
   */
  awaited(key: string, ageMs: number): Promise<Value> | undefined {
    if (ageMs < this.#renewAfterMs) return undefined
    const read = this.begun(key)
    if (ageMs >= this.#validForMs) return read
    // A failure is thrown to the callers that wait for a later read.
    read.catch(() => undefined)
    return undefined
  }

  /**
   * The read of a key that is under way, or else one that begins now. Shortly after a failed read it is
   * that one: a store that fails at once is not asked by each caller.
   */
  begun(key: string): Promise<Value> {
    const reading = this.#reading.get(key)
    if (reading !== undefined) return reading
    const failed = this.#failed.get(key)
    if (failed !== undefined && this.#clock.nowMs() - failed.atMs < RETRY_AFTER_MS)
      return Promise.reject(failed.error)
    const begun = runForAll(() => this.#readOnce(key)).finally(() => this.#reading.delete(key))
    this.#reading.set(key, begun)
    return begun
  }

  async #readOnce(key: string): Promise<Value> {
    try {
      const value = await this.#read(key)
      this.#failed.delete(key)
      return value
    } catch (error) {
      this.#failed.set(key, { error, atMs: this.#clock.nowMs() })
      throw error
    }
  }
}

/**
 * Whether a value that is renewed in rounds was used of late: a caller that comes back after a few seconds
 * then finds it valid, and a value that is not used costs nothing.
 */
export class RecentUse {
  #wasUsed = false
  #roundsLeft = 0

  used(): void {
    this.#wasUsed = true
  }

  /** Whether this round renews the value. */
  countRound(): boolean {
    if (this.#wasUsed) this.#roundsLeft = ROUNDS_AFTER_USE
    this.#wasUsed = false
    if (this.#roundsLeft === 0) return false
    this.#roundsLeft -= 1
    return true
  }
}
