import type { Observation } from '../../../../projections/tasks/query.ts'
import { HeldJobs } from '../../queue/held-jobs.ts'
import type { DuePoll } from './task-work.ts'

/** About 100 bytes each; beyond this an answer is not noted, only a later one. */
const MAX_SEEN = 50_000

/** Tasks that stay leased until their next poll, and when upstream answered for them. */
export class HeldPolls extends HeldJobs<DuePoll> {
  /**
   * Times at which upstream last answered for held tasks, if no row has them yet, in Unix
   * milliseconds.
   */
  readonly #seen = new Map<string, number>()

  constructor() {
    super(({ platformId }) => platformId)
  }

  /** Whether the task stays held until it is due; otherwise the caller must write its row. */
  keepSeen(task: DuePoll, dueAtMs: number, observedAtMs: number): boolean {
    // Lists show by the row whether upstream ever answered for a task.
    if (task.observedAtMs === undefined || !this.keep(task, dueAtMs)) return false
    if (this.#seen.size < MAX_SEEN || this.#seen.has(task.platformId))
      this.#seen.set(task.platformId, observedAtMs)
    return true
  }

  /** Up to `limit` answers that no row has, the longest waiting first; each is returned once. */
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
