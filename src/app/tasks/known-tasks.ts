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
export interface KnownTasks {
  readonly of: (platformId: string) => KnownTask | undefined
  readonly note: (platformId: string, known: KnownTask) => void
  readonly forget: (platformId: string) => void
}

export function createKnownTasks(): KnownTasks {
  const tasks = new Map<string, KnownTask>()
  return {
    of: (platformId) => tasks.get(platformId),
    forget: (platformId) => void tasks.delete(platformId),
    note: (platformId, known) => {
      // Deleting first moves the task to the young end.
      tasks.delete(platformId)
      tasks.set(platformId, known)
      if (tasks.size <= MAX_TASKS) return
      const [oldest] = tasks.keys()
      if (oldest !== undefined) tasks.delete(oldest)
    },
  }
}
