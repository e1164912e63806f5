import type { Observation } from '../../../../projections/tasks/query.ts'
import { HeldJobs } from '../../queue/held.ts'
import type { DuePoll } from './task-work.ts'

/** About 100 bytes each; of what is beyond a later answer is written. */
const MAX_SEEN = 50_000

/** Tasks that stay leased until they are asked for again, and when upstream answered for them. */
export class HeldPolls extends HeldJobs<DuePoll> {
  /** When upstream answered for tasks that were kept since, as far as no row has it, in Unix milliseconds. */
  readonly #seen = new Map<string, number>()

  constructor() {
    super(({ platformId }) => platformId)
  }

  /** Whether one that upstream answered for is held until it is due: its row has to say all of that otherwise. */
  keepSeen(task: DuePoll, dueAtMs: number, observedAtMs: number): boolean {
    // Lists show by the row whether upstream ever answered for a task.
    if (task.observedAtMs === undefined || !this.keep(task, dueAtMs)) return false
    if (this.#seen.size < MAX_SEEN || this.#seen.has(task.platformId))
      this.#seen.set(task.platformId, observedAtMs)
    return true
  }

  /** Up to `limit` answers that no row has, those that wait longest first; they are given out once. */
  takeSeen(limit: number): readonly Observation[] {
    const seen: Observation[] = []
    for (const [platformId, observedAtMs] of this.#seen) {
      if (seen.length === limit) break
      seen.push({ platformId, observedAtMs })
      this.#seen.delete(platformId)
    }
    return seen
  }
}
