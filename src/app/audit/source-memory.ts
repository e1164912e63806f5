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
 * Maximum number of remembered sources, such as tasks and tokens; the log is read again for others.
 */
const MAX_REMEMBERED = 20_000

/** The owner of a task, a token or an object of the asset library, and a task's state. */
interface KnownSource extends Owner {
  readonly task: TaskState | undefined
}

/**
 * Earlier state of streams whose later events do not name their tenant, in bounded memory. The
 * least recently seen are evicted and read from the log again, so it does not matter how far apart
 * a task's events are or where an audit begins.
 */
export class SourceMemory {
  readonly #sources = new Map<string, KnownSource>()
  readonly #log: EventLog
  readonly #onForgotten: (task: TaskState) => void

  constructor(log: EventLog, onForgotten: (task: TaskState) => void) {
    this.#log = log
    this.#onForgotten = onForgotten
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
    for (const event of await this.#log.readStream(before.stream))
      if (event.position < before.position) this.take(event, id)
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
    const next = isTaskEvent(event)
      ? ofTask(advance(known?.task, event))
      : (begunBy(event) ?? known)
    if (next === undefined) return undefined
    // Set again, it becomes the map's youngest entry: the first one is the least recently seen.
    this.#sources.delete(id)
    this.#sources.set(id, next)
    if (this.#sources.size > MAX_REMEMBERED) this.#forgetOldest()
    return next
  }

  #forgetOldest(): void {
    for (const [id, { task }] of this.#sources) {
      this.#sources.delete(id)
      if (task?.succeeded) this.#onForgotten(task)
      return
    }
  }

  /** Tasks whose last event was a success. */
  *unsettled(): Generator<TaskState> {
    for (const { task } of this.#sources.values()) if (task?.succeeded) yield task
  }
}

function ofTask(task: TaskState | undefined): KnownSource | undefined {
  return task && { tenantId: task.tenantId, userId: task.userId, task }
}

/** The facts of a source by its first event. */
function begunBy(event: RecordedEvent): KnownSource | undefined {
  const { data } = event
  if (!isFirstOfSource(event) || !('userId' in data)) return undefined
  return { tenantId: data.tenantId, userId: data.userId, task: undefined }
}

const remembered = [tokenStream, assetStream, assetGroupStream, verificationStream]

/** The source of an event's stream: calls, files and accounts need no memory. */
function streamOwner(event: RecordedEvent): string | undefined {
  if (isTaskEvent(event)) return event.data.platformId
  const id = sourceOf(event)
  if (id === undefined) return undefined
  return remembered.some((stream) => event.stream === stream(id)) ? id : undefined
}
