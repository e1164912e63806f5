import { type Journal, memoryJournal, openJournal } from './journal.ts'
import {
  NO_MARKS,
  type Retention,
  stateAt,
  type TaskMarks,
  type TaskRecord,
  type TaskState,
} from './record.ts'

/** A record with what happened to it since. */
export interface StoredTask {
  readonly record: TaskRecord
  readonly marks: TaskMarks
  /** Queries that found it, since this process started. */
  readonly queried: number
}

interface Entry extends StoredTask {
  marks: TaskMarks
  queried: number
}

type Line =
  | { readonly t: 'accept'; readonly record: TaskRecord }
  | { readonly t: 'mark'; readonly id: string; readonly marks: Partial<TaskMarks> }
  | { readonly t: 'seq'; readonly next: number }

/** Bounds of what is kept. */
interface StoreLimits extends Retention {
  /** Oldest records beyond this many are forgotten. */
  readonly maxTasks: number
}

/** A record before its sequence number. */
export type NewTask = Omit<TaskRecord, 'seq'>

/** The accepted tasks of every family; the only state that the sandbox keeps. */
export class TaskStore {
  readonly #tasks = new Map<string, Entry>()
  readonly #reserved = new Set<string>()
  readonly #limits: StoreLimits
  #journal: Journal = memoryJournal
  #nextSeq = 1
  #journalLines = 0
  #compacting = false

  private constructor(limits: StoreLimits) {
    this.#limits = limits
  }

  /** Opens the store; with a directory, it holds again what was accepted before. */
  static async open(
    directory: string | null,
    limits: StoreLimits,
    nowMs: number,
  ): Promise<TaskStore> {
    const store = new TaskStore(limits)
    if (directory === null) return store
    store.#journal = await openJournal(directory, (line) => store.#load(line as Line))
    store.#evict(nowMs)
    await store.#journal.rewrite(() => store.#lines())
    store.#journalLines = store.#tasks.size * 2
    return store
  }

  /** Whether an id was given out already; if not it is taken now. */
  reserve(id: string): boolean {
    if (this.#tasks.has(id) || this.#reserved.has(id)) return false
    this.#reserved.add(id)
    return true
  }

  /** Resolves once the record is durable. @throws Error when it could not be written; nothing is accepted then. */
  async accept(task: NewTask): Promise<TaskRecord> {
    const record: TaskRecord = { ...task, seq: this.#nextSeq }
    this.#nextSeq += 1
    try {
      await this.#journal.append({ t: 'accept', record } satisfies Line)
    } finally {
      this.#reserved.delete(task.id)
    }
    this.#tasks.set(record.id, { record, marks: NO_MARKS, queried: 0 })
    this.#journalLines += 1
    this.#evict(task.acceptedAtMs)
    this.#compact()
    return record
  }

  /** Changes marks at once and resolves when that is durable. */
  async mark(id: string, marks: Partial<TaskMarks>): Promise<void> {
    const entry = this.#tasks.get(id)
    if (entry === undefined) return
    entry.marks = { ...entry.marks, ...marks }
    this.#journalLines += 1
    await this.#journal.append({ t: 'mark', id, marks } satisfies Line)
  }

  /** Counts a query, and keeps when one first showed the success. */
  queried(id: string, reportedSuccess: boolean, nowMs: number): void {
    const entry = this.#tasks.get(id)
    if (entry === undefined) return
    entry.queried += 1
    if (!reportedSuccess || entry.marks.successReportedAtMs !== null) return
    entry.marks = { ...entry.marks, successReportedAtMs: nowMs }
    this.#journalLines += 1
    this.#journal.note({ t: 'mark', id, marks: { successReportedAtMs: nowMs } } satisfies Line)
  }

  get(id: string): StoredTask | null {
    return this.#tasks.get(id) ?? null
  }

  stateOf(task: StoredTask, nowMs: number): TaskState {
    return stateAt(task.record, task.marks, nowMs, this.#limits)
  }

  /** Oldest first. */
  all(): readonly StoredTask[] {
    return [...this.#tasks.values()].sort((a, b) => a.record.seq - b.record.seq)
  }

  get size(): number {
    return this.#tasks.size
  }

  /** Forgets everything; sequence numbers go on. */
  async reset(): Promise<void> {
    this.#tasks.clear()
    await this.#journal.rewrite(() => this.#lines())
    this.#journalLines = 0
  }

  close(): Promise<void> {
    return this.#journal.close()
  }

  #load(line: Line): void {
    if (line.t === 'seq') {
      this.#nextSeq = Math.max(this.#nextSeq, line.next)
      return
    }
    if (line.t === 'accept') {
      this.#tasks.set(line.record.id, { record: line.record, marks: NO_MARKS, queried: 0 })
      this.#nextSeq = Math.max(this.#nextSeq, line.record.seq + 1)
      return
    }
    const entry = this.#tasks.get(line.id)
    if (entry !== undefined) entry.marks = { ...entry.marks, ...line.marks }
  }

  *#lines(): Generator<Line> {
    yield { t: 'seq', next: this.#nextSeq }
    for (const { record, marks } of this.#tasks.values()) {
      yield { t: 'accept', record }
      if (marks !== NO_MARKS) yield { t: 'mark', id: record.id, marks }
    }
  }

  /** Acceptance order is insertion order but for records in flight together, so the first is among the oldest. */
  #evict(nowMs: number): void {
    for (const [id, { record }] of this.#tasks) {
      const old = nowMs - record.acceptedAtMs >= this.#limits.taskMs
      if (!old && this.#tasks.size <= this.#limits.maxTasks) return
      this.#tasks.delete(id)
    }
  }

  /** Keeps the file within a bound: about four lines a kept task. */
  #compact(): void {
    if (this.#compacting || this.#journalLines < 4 * this.#limits.maxTasks) return
    this.#compacting = true
    this.#journalLines = this.#tasks.size * 2
    void this.#journal
      .rewrite(() => this.#lines())
      .catch(() => undefined)
      .finally(() => {
        this.#compacting = false
      })
  }
}
