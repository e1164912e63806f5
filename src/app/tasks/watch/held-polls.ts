import type { DuePoll, Observation } from '../../../../projections/tasks/query.ts'

/** What asking may take at the slowest pace: later in a lease nothing is begun. */
const ASKING_MS = 60_000
/** About 500 bytes each; what is beyond is leased anew each time. */
const MAX_HELD = 50_000

interface Held {
  readonly task: DuePoll
  readonly dueAtMs: number
}

/**
 * Tasks that stay leased until they are asked for again. A young task is asked for every second: written
 * down each time as leased and as due again, tasks in flight would be most of what Postgres does.
 *
 * Nothing here is certain: whoever asks makes sure first that the lease still stands. What is lost with
 * the process is leased to a process that died.
 */
export class HeldPolls {
  readonly #held = new Map<string, Held>()
  /** When upstream answered for tasks that were kept since, as far as no row says so, in Unix milliseconds. */
  readonly #seen = new Map<string, number>()

  /** Whether it is held until it is due: its row has to say all of that otherwise. */
  keep(task: DuePoll, dueAtMs: number, observedAtMs: number): boolean {
    // Who lists tasks sees by the row whether upstream ever answered for one.
    if (task.observedAtMs === undefined || !this.putOff(task, dueAtMs)) return false
    if (this.#seen.size < MAX_HELD || this.#seen.has(task.platformId))
      this.#seen.set(task.platformId, observedAtMs)
    return true
  }

  /** Up to `limit` answers that no row tells of, those that wait longest first; they are given out once. */
  takeSeen(limit: number): readonly Observation[] {
    const seen: Observation[] = []
    for (const [platformId, observedAtMs] of this.#seen) {
      if (seen.length === limit) break
      seen.push({ platformId, observedAtMs })
      this.#seen.delete(platformId)
    }
    return seen
  }

  /** The same of one that was not asked for after all. */
  putOff(task: DuePoll, dueAtMs: number): boolean {
    return dueAtMs + ASKING_MS <= task.leasedUntilMs && this.put(task, dueAtMs)
  }

  /** Whatever is left of its lease: of one that its row could not be told of. */
  put(task: DuePoll, dueAtMs: number): boolean {
    if (this.#held.size >= MAX_HELD) return false
    // Behind all others.
    this.#held.delete(task.platformId)
    this.#held.set(task.platformId, { task, dueAtMs })
    return true
  }

  /**
   * Up to `limit` of those that are due at channels that can be asked, the longest held first; they stay
   * until they are dropped.
   */
  due(nowMs: number, limit: number, besidesChannels: readonly string[] = []): readonly DuePoll[] {
    const due: DuePoll[] = []
    for (const { task, dueAtMs } of this.#held.values()) {
      if (dueAtMs > nowMs || besidesChannels.includes(task.channelId)) continue
      due.push(task)
      if (due.length === limit) break
    }
    return due
  }

  has(platformId: string): boolean {
    return this.#held.has(platformId)
  }

  drop(tasks: readonly DuePoll[]): void {
    for (const { platformId } of tasks) this.#held.delete(platformId)
  }
}
