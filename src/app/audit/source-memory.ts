import type { Owner } from '../../../projections/engine/audited-rows.ts'
import { isFirstOfSource, sourceOf } from '../../domain/any-event.ts'
import { assetStream } from '../../domain/asset/events.ts'
import { assetGroupStream } from '../../domain/asset-group/events.ts'
import { tokenStream } from '../../domain/token/events.ts'
import { verificationStream } from '../../domain/verification/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { advance, isTaskEvent, type TaskState } from './task-state.ts'
import { readEach } from './streams.ts'

/**
 * Maximum number of remembered events of tasks, with one for each other source, such as a token;
 * the log is read again for others.
 */
const MAX_REMEMBERED = 50_000

/** The owner of a task, a token or an object of the asset library, and a task's state. */
interface KnownSource extends Owner {
  readonly task: TaskState | undefined
  /** All events of a task so far; none of another source. */
  readonly events: RecordedEvent[]
}

/** A task that memory gives up, with all its events so far. */
export interface RememberedTask {
  readonly state: TaskState
  readonly events: readonly RecordedEvent[]
}

interface MemoryOptions {
  readonly log: EventLog
  /** Called with a task of which an earlier event was read again from the log: the last of them. */
  readonly onRecalled: (platformId: string, last: RecordedEvent) => void
  readonly maxRemembered?: number | undefined
}

/**
 * Earlier events of streams whose later ones depend on them, in bounded memory. The least recently
 * seen are given up and read from the log again, so it does not matter how far apart a task's
 * events are or where an audit begins.
 */
export class SourceMemory {
  readonly #sources = new Map<string, KnownSource>()
  readonly #options: MemoryOptions
  #remembered = 0

  constructor(options: MemoryOptions) {
    this.#options = options
  }

  /** Number of remembered events of tasks, with one for each other source. */
  get remembered(): number {
    return this.#remembered
  }

  /**
   * Reads the earlier events on which these depend and that memory does not have. Call it before
   * `take`.
   */
  async recall(events: readonly RecordedEvent[]): Promise<void> {
    const unknown = new Map<string, RecordedEvent>()
    const begun = new Set<string>()
    for (const event of events) {
      const id = streamOwner(event)
      if (id === undefined || begun.has(id) || this.#sources.has(id)) continue
      begun.add(id)
      if (event.revision > 0n) unknown.set(id, event)
    }
    await readEach(unknown, ([id, event]) => this.#read(id, event))
  }

  async #read(id: string, before: RecordedEvent): Promise<void> {
    let last: RecordedEvent | undefined
    for (const event of await this.#options.log.readStream(before.stream)) {
      if (event.position >= before.position) break
      this.take(event, id)
      last = event
    }
    if (last && this.#sources.get(id)?.task) this.#options.onRecalled(id, last)
  }

  /** The known facts of an event's source before the event. */
  before(event: RecordedEvent): KnownSource | undefined {
    const id = streamOwner(event)
    return id === undefined ? undefined : this.#sources.get(id)
  }

  /** Adds an event; returns the known facts after it. */
  take(event: RecordedEvent, id = streamOwner(event)): KnownSource | undefined {
    if (id === undefined) return undefined
    const known = this.#sources.get(id)
    const next = isTaskEvent(event) ? withTask(known, event) : (begunBy(event) ?? known)
    if (next === undefined) return undefined
    this.#remembered += sizeOf(next) - (known ? sizeOf(known) : 0)
    // Set again, it becomes the map's youngest entry: the first one is the least recently seen.
    this.#sources.delete(id)
    this.#sources.set(id, next)
    return next
  }

  /** Gives up the least recently seen beyond the limit; returns the tasks among them. */
  forget(limit = this.#options.maxRemembered ?? MAX_REMEMBERED): readonly RememberedTask[] {
    const tasks: RememberedTask[] = []
    for (const [id, known] of this.#sources) {
      if (this.#remembered <= limit) break
      this.#sources.delete(id)
      this.#remembered -= sizeOf(known)
      if (known.task) tasks.push({ state: known.task, events: known.events })
    }
    return tasks
  }
}

function sizeOf({ events }: KnownSource): number {
  return Math.max(1, events.length)
}

function withTask(
  known: KnownSource | undefined,
  event: Parameters<typeof advance>[1],
): KnownSource | undefined {
  const task = advance(known?.task, event)
  if (task === undefined) return undefined
  const events = [...(known?.events ?? []), event]
  return { tenantId: task.tenantId, userId: task.userId, task, events }
}

/** The facts of a source by its first event. */
function begunBy(event: RecordedEvent): KnownSource | undefined {
  const { data } = event
  if (!isFirstOfSource(event) || !('userId' in data)) return undefined
  return { tenantId: data.tenantId, userId: data.userId, task: undefined, events: [] }
}

const remembered = [tokenStream, assetStream, assetGroupStream, verificationStream]

/** The source of an event's stream: calls, files and accounts need no memory. */
function streamOwner(event: RecordedEvent): string | undefined {
  if (isTaskEvent(event)) return event.data.platformId
  const id = sourceOf(event)
  if (id === undefined) return undefined
  return remembered.some((stream) => event.stream === stream(id)) ? id : undefined
}
