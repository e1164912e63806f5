import { monotonicFactory } from 'ulid'
import { createLru } from '../../kernel/lru.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { type CallEvent, journalStream } from '../../domain/call/events.ts'
import { recordId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { pause } from '../../kernel/pause.ts'
import { currentSchemaVersion, encodeEvent } from '../log/codec.ts'
import { appendTooLarge, logUnavailable } from '../log/errors.ts'
import { startDrain } from './drain.ts'
import { defaultJournalLimits, type JournalLimits } from './limits.ts'
import { createPlacement, createRoute, writeBatch, type WriteResult } from './writer.ts'
import type { Spool, SpoolState } from './spool.ts'
import type { EventLog, EventMetadata, NewEvent } from '../log/types.ts'

const FLUSH_POLL_MS = 5
const CLOSE_FLUSH_MS = 10_000
/**
 * How long a stop continues to drain while the log answers, because the disk may not outlive the
 * process.
 */
const CLOSE_DRAIN_MS = 5_000
const NO_SPOOL: SpoolState = {
  batches: 0,
  records: 0,
  sizeBytes: 0,
  maxBytes: 0,
  oldestAtMs: undefined,
}

export interface JournalObserver {
  readonly batch?: (batch: {
    readonly outcome: 'log' | 'spool' | 'rejected'
    readonly events: number
    readonly sizeBytes: number
    readonly durationMs: number
  }) => void
}

interface JournalOptions {
  readonly log: EventLog
  /** A new name at every start of the process, so that each stream has one writer. */
  readonly instanceId: string
  readonly logger: Log
  /** The journal drains and closes it. */
  readonly spool?: Spool
  readonly observer?: JournalObserver
  readonly limits?: Partial<JournalLimits>
}

export interface Journal {
  /**
   * Resolves once the event is durable, in the log or in the spool. `metadata.commandId` names the
   * record: a repetition is not written again.
   * @throws `log_unavailable` when it is certainly not recorded (queue full, closed, or log
   * unavailable and no spool), `log_outcome_unknown`, `event_invalid`, `append_too_large`
   */
  readonly record: (
    event: CallEvent,
    metadata: Omit<EventMetadata, 'schemaVersion'>,
  ) => Promise<Recorded>
  /**
   * Refuses while the spool cannot be written: a result might come of which nothing could be
   * recorded. @throws `log_unavailable`
   */
  readonly requireWritable: () => void
  /** Looks whether a spool that could not be written has room again. */
  readonly lookForRoom: () => Promise<void>
  /** Records that are not durable yet. */
  readonly pending: () => number
  /** Batches that wait in the spool. */
  readonly spooled: () => number
  /** The content of the spool, and its maximum size. */
  readonly backlog: () => SpoolState
  /** Whether everything recorded so far became durable in time. */
  readonly flush: (deadlineMs: number) => Promise<boolean>
  /**
   * Accepts no more records, flushes within a bound, and continues to drain for a while if the log
   * answers. Records that remain in the spool wait for the next start.
   */
  readonly close: () => Promise<void>
}

const nextUlid = monotonicFactory()

/** A name for this start of the process: a ULID. */
export function newInstanceId(nowMs: number): string {
  return nextUlid(nowMs)
}

/** Writes batch after batch while records wait; one append is in flight. */
interface Committer {
  readonly wake: () => void
  readonly inFlight: () => number
}

function createCommitter(
  take: () => readonly QueuedRecord[],
  write: (events: readonly NewEvent[]) => Promise<WriteResult>,
  observer: JournalObserver,
): Committer {
  let inFlight = 0
  let running = false
  const commit = async (records: readonly QueuedRecord[]): Promise<void> => {
    const startedMs = monotonicClock.nowMs()
    const observe = (outcome: 'log' | 'spool' | 'rejected') =>
      observer.batch?.({
        outcome,
        events: records.length,
        sizeBytes: records.reduce((total, record) => total + record.sizeBytes, 0),
        durationMs: monotonicClock.nowMs() - startedMs,
      })
    try {
      const written = await write(records.map((record) => record.event))
      observe(written.to)
      const recorded: Recorded =
        written.to === 'log' && written.position !== undefined ? { position: written.position } : {}
      for (const record of records) record.resolve(recorded)
    } catch (error) {
      observe('rejected')
      for (const record of records) record.reject(error)
    }
  }
  const run = async (): Promise<void> => {
    // All records of this turn of the event loop share the first append.
    await Promise.resolve()
    for (let records = take(); records.length > 0; records = take()) {
      inFlight = records.length
      await commit(records)
      inFlight = 0
    }
    running = false
  }
  return {
    wake: () => {
      if (running) return
      running = true
      void run()
    },
    inFlight: () => inFlight,
  }
}

/**
 * The newest `max` results by event id. A refused record is not kept, so that it may be tried
 * again.
 */
function createMemory(max: number): {
  readonly get: (id: string) => Promise<Recorded> | undefined
  readonly set: (id: string, recorded: Promise<Recorded>) => void
} {
  const results = createLru<string, Promise<Recorded>>(max)
  return {
    get: (id) => results.get(id),
    set: (id, recorded) => {
      results.set(id, recorded)
      recorded.catch(() => results.delete(id))
    },
  }
}

/** Group commit: one append in flight, everything that arrives meanwhile goes into the next. */
export function createJournal(options: JournalOptions): Journal {
  const { log, logger, spool } = options
  const limits: JournalLimits = { ...defaultJournalLimits, ...options.limits }
  const streamName = (n: number) => journalStream(options.instanceId, n)
  const placement = createPlacement(streamName, limits.rotateAfterEvents)
  const route = createRoute(log, limits.logRetryMs)
  const drain =
    spool === undefined
      ? undefined
      : startDrain({ log, logger, spool, limits, onAnswer: route.answered })
  const onSpooled = () => drain?.wake()
  const { spoolAfterMs } = limits
  const writer = { log, logger, placement, route, spool, onSpooled, spoolAfterMs }
  const queue = createJournalQueue(limits)
  const committer = createCommitter(
    queue.take,
    (events) => writeBatch(writer, events),
    options.observer ?? {},
  )
  const memory = createMemory(limits.maxRemembered)
  let closed = false

  const pending = () => queue.size() + committer.inFlight()
  const flush = async (deadlineMs: number): Promise<boolean> => {
    const untilMs = monotonicClock.nowMs() + deadlineMs
    while (pending() > 0 && monotonicClock.nowMs() < untilMs) await pause(FLUSH_POLL_MS)
    return pending() === 0
  }
  return {
    record: async (event, metadata) => {
      const id = recordId(metadata.commandId)
      const known = memory.get(id)
      if (known !== undefined) return known
      if (closed) throw logUnavailable('the journal is closed')
      const schemaVersion = currentSchemaVersion(event.type)
      const recording: NewEvent = { ...event, id, metadata: { ...metadata, schemaVersion } }
      const { sizeBytes } = encodeEvent(recording)
      if (sizeBytes > limits.maxBatchBytes)
        throw appendTooLarge('journal', sizeBytes, limits.maxBatchBytes)
      const recorded = queue.push(recording, sizeBytes)
      memory.set(id, recorded)
      committer.wake()
      return recorded
    },
    ...roomIn(spool),
    pending,
    spooled: () => spool?.state().batches ?? 0,
    backlog: () => spool?.state() ?? NO_SPOOL,
    flush,
    close: async () => {
      closed = true
      if (!(await flush(CLOSE_FLUSH_MS)))
        logger.error({ pending: pending() }, 'journal closed before everything was durable')
      await drain?.stop(CLOSE_DRAIN_MS)
      const left = spool?.state().records ?? 0
      if (left > 0)
        logger.error({ records: left }, 'settlements stay in the spool until the next start')
      await spool?.close()
    },
  }
}

function roomIn(spool: Spool | undefined): Pick<Journal, 'requireWritable' | 'lookForRoom'> {
  return {
    requireWritable: () => {
      const fault = spool?.fault()
      if (fault !== undefined) throw logUnavailable(`the spool cannot be written: ${fault}`)
    },
    lookForRoom: async () => spool?.lookForRoom(),
  }
}

/** Absent when the record waits in the spool, or the log did not report it. */
interface Recorded {
  readonly position?: bigint
}

/** A queued record, and the caller that waits for it. */
interface QueuedRecord {
  readonly event: NewEvent
  readonly sizeBytes: number
  readonly resolve: (recorded: Recorded) => void
  readonly reject: (error: unknown) => void
}

/** Records in order of arrival, bounded in count and bytes. */
interface JournalQueue {
  /** @throws `log_unavailable` when it is full */
  readonly push: (event: NewEvent, sizeBytes: number) => Promise<Recorded>
  /** The next batch: all waiting records, up to the bounds of one append. */
  readonly take: () => readonly QueuedRecord[]
  readonly size: () => number
}

function createJournalQueue(limits: JournalLimits): JournalQueue {
  let records: QueuedRecord[] = []
  let queuedBytes = 0
  return {
    push: async (event, sizeBytes) => {
      if (
        records.length >= limits.maxQueuedEvents ||
        queuedBytes + sizeBytes > limits.maxQueuedBytes
      )
        throw logUnavailable('the journal is full')
      queuedBytes += sizeBytes
      return new Promise((resolve, reject) => {
        records.push({ event, sizeBytes, resolve, reject })
      })
    },
    take: () => {
      let count = 0
      let sizeBytes = 0
      for (const record of records) {
        if (count === limits.maxBatchEvents) break
        if (count > 0 && sizeBytes + record.sizeBytes > limits.maxBatchBytes) break
        sizeBytes += record.sizeBytes
        count += 1
      }
      const batch = records.slice(0, count)
      records = records.slice(count)
      queuedBytes -= sizeBytes
      return batch
    },
    size: () => records.length,
  }
}
