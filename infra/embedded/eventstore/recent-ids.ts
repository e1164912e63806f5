import type { SeenEvent } from './decide.ts'
import { MAX_APPEND_EVENTS, RECENT_IDS } from './limits.ts'

/**
 * Places of the newest events by id, those of the newest append always among them. Two generations, of which the
 * older is dropped at once: a cache that evicts one by one keeps a third more for each.
 */
export class RecentIds {
  #newer = new Map<string, SeenEvent>()
  #older: ReadonlyMap<string, SeenEvent> = new Map()

  get(id: string): SeenEvent | undefined {
    return this.#newer.get(id) ?? this.#older.get(id)
  }

  /** Adds the ids of events that were committed together, in order. */
  add(committed: Iterable<readonly [id: string, seen: SeenEvent]>): void {
    if (this.#newer.size >= RECENT_IDS) this.#beginGeneration()
    for (const [id, seen] of committed) {
      if (this.#newer.size >= MAX_APPEND_EVENTS) this.#beginGeneration()
      this.#newer.set(id, seen)
    }
  }

  #beginGeneration(): void {
    this.#older = this.#newer
    this.#newer = new Map()
  }
}
