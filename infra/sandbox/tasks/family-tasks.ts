import type { FamilyKit } from '../family.ts'
import type { TaskState } from './record.ts'
import type { NewTask, StoredTask } from './store.ts'

const MAX_ID_TRIES = 1_000

export type FoundTask = readonly [task: StoredTask, state: TaskState]

/** What the store holds of one family. */
export class FamilyTasks {
  readonly #kit: FamilyKit
  readonly #family: string

  constructor(kit: FamilyKit, family: string) {
    this.#kit = kit
    this.#family = family
  }

  /** An id nobody has, which is taken from now on. */
  freshId(make: () => string): string {
    for (let tries = 0; tries < MAX_ID_TRIES; tries += 1) {
      const id = make()
      if (this.#kit.store.reserve(id)) return id
    }
    throw new Error('no free task id')
  }

  /** Accepts a task: it is durable then, and its callbacks are on their way. */
  async accept(task: Omit<NewTask, 'family'>) {
    const { store, callbacks } = this.#kit
    const record = await store.accept({ ...task, family: this.#family })
    const stored = store.get(record.id)
    if (stored !== null) callbacks.watch(stored)
    return record
  }

  /** A task as it stands now; null where none can be seen, or it is not of that account. */
  find(id: string, account?: string): FoundTask | null {
    const { store, clock } = this.#kit
    const task = store.get(id)
    if (task === null || task.record.family !== this.#family) return null
    if (account !== undefined && task.record.credential !== account) return null
    const state = store.stateOf(task, clock.nowMs())
    return state.visible ? [task, state] : null
  }

  /** Notes that a caller was told how a task stands. */
  told([{ record }, { phase }]: FoundTask): void {
    this.#kit.store.queried(record.id, phase === 'succeeded', this.#kit.clock.nowMs())
  }
}
