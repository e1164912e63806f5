/** A map that keeps what was set last, and forgets the oldest beyond its bound. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #maxEntries: number
  /**
   * Goes on where it stopped, and what is set comes behind all others: before it nothing is left. One that
   * began anew would pass what was forgotten again each time, which is nearly everything in a full map.
   */
  readonly #oldestFirst: Iterator<Key>

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
    this.#oldestFirst = this.#entries.keys()
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  /** The oldest first. What is deleted on the way is passed over. */
  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#entries.entries()
  }

  /** Also of what is there already: it becomes the youngest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#maxEntries) return
    const oldest = this.#oldestFirst.next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
