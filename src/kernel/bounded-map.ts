/** A map that keeps what was set last, and forgets the oldest beyond its bound. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
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
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
