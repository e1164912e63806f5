import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { TaskState } from '../../domain/task/state.ts'

/** A task as far as this process has seen its stream. */
export interface KnownTask {
  readonly state: TaskState
  /** Of the stream's last event. */
  readonly revision: bigint
}

/** The oldest are forgotten first: they are read from the log again. */
const MAX_TASKS = 5_000

/**
 * Open tasks as this process last wrote them, so that what upstream says next is decided without
 * reading the stream. Others may have written meanwhile: an append at the revision known here tells.
 */
export type KnownTasks = BoundedMap<string, KnownTask>

export function createKnownTasks(): KnownTasks {
  return new BoundedMap(MAX_TASKS)
}
