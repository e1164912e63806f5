import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, isOn, type Faults } from '../faults/vocabulary.ts'
import type { TaskRecord, TaskState } from './record.ts'
import type { NewTask, StoredTask } from './store.ts'

const MAX_ID_TRIES = 1_000

export type FoundTask = readonly [task: StoredTask, state: TaskState]

type Render = (...found: FoundTask) => object

/** What follows from the rest of a task unless it is said. */
type Implied = 'acceptedAtMs' | 'requestedModel' | 'safetyIdentifier' | 'usageLater'

/** The tasks that a list shows; pages are counted from 0. */
export interface Listing {
  readonly page: number
  readonly size: number
  readonly faults: Faults
  readonly fits: (task: StoredTask, state: TaskState) => boolean
}

/** The tasks of one family. */
export class FamilyTasks {
  readonly #kit: FamilyKit
  readonly #family: string
  readonly #missing: (id: string) => Error
  readonly #render: Render

  /** `missing`: the refusal of a task that cannot be seen; `render`: a task as its queries show it. */
  constructor(kit: FamilyKit, family: string, missing: (id: string) => Error, render: Render) {
    this.#kit = kit
    this.#family = family
    this.#missing = missing
    this.#render = render
  }

  /** An id that no task has; it is taken from now on. */
  freshId(make: () => string): string {
    for (let tries = 0; tries < MAX_ID_TRIES; tries += 1) {
      const id = make()
      if (this.#kit.store.reserve(id)) return id
    }
    throw new Error('no free task id')
  }

  /** Accepts a task: it is durable then, and its callbacks are on their way. Of its credential the hash is kept. */
  async accept(
    task: Omit<NewTask, 'family' | Implied> & Partial<Pick<NewTask, Implied>>,
  ): Promise<TaskRecord> {
    const { store, callbacks, clock } = this.#kit
    const record = await store.accept({
      acceptedAtMs: clock.nowMs(),
      requestedModel: task.model,
      safetyIdentifier: null,
      usageLater: null,
      ...task,
      credential: credentialHash(task.credential),
      family: this.#family,
    })
    const stored = store.get(record.id)
    if (stored !== null) callbacks.watch(stored)
    return record
  }

  /**
   * A task's current state. @throws `missing` where none can be seen, or it is not of that
   * credential
   */
  find(id: string, credential?: string): FoundTask {
    const { store, clock } = this.#kit
    const task = store.get(id)
    if (task === null || task.record.family !== this.#family) throw this.#missing(id)
    if (credential !== undefined && task.record.credential !== credentialHash(credential))
      throw this.#missing(id)
    const state = store.stateOf(task, clock.nowMs())
    if (!state.visible) throw this.#missing(id)
    return [task, state]
  }

  /** One page of the tasks there are, newest first. */
  list({ page, size: asked, faults, fits }: Listing) {
    const { store, clock } = this.#kit
    const nowMs = clock.nowMs()
    const found = (isOn(faults, 'empty-list') ? [] : store.all())
      .filter(({ record }) => record.family === this.#family)
      .map((task): FoundTask => [task, store.stateOf(task, nowMs)])
      .filter(([task, state]) => state.visible && fits(task, state))
      .reverse()
    const size = Math.min(asked, countOf(faults, 'page-cap') ?? asked)
    const end = (page + 1) * size
    const items = found.slice(page * size, end)
    return { items, total: found.length, hasMore: found.length > end }
  }

  /** Renders a task and notes that a query has shown it. */
  render(found: FoundTask, render = this.#render): object {
    const shown = render(...found)
    const [{ record }, { phase }] = found
    this.#kit.store.queried(record.id, phase === 'succeeded', this.#kit.clock.nowMs())
    return shown
  }

  /** Cancels what is queued, deletes anything else; whether it was queued. */
  async remove([{ record }, { phase }]: FoundTask): Promise<boolean> {
    const nowMs = this.#kit.clock.nowMs()
    const isQueued = phase === 'queued'
    const mark = isQueued ? { cancelledAtMs: nowMs } : { deletedAtMs: nowMs }
    await this.#kit.store.mark(record.id, mark)
    return isQueued
  }
}

/** A number of a query. @throws `invalid` for one that does not fit */
export function numberIn(
  query: URLSearchParams,
  name: string,
  { absent, min, max }: { readonly absent: number; readonly min: number; readonly max: number },
  invalid: () => Error,
  digits = /^\d{1,6}$/,
): number {
  const text = query.get(name)
  if (text === null || text === '') return absent
  if (!digits.test(text) || Number(text) < min || Number(text) > max) throw invalid()
  return Number(text)
}
