import type { Pool, PoolClient } from 'pg'
import { monotonicClock } from '../../src/kernel/clock.ts'
import {
  eventsThrough,
  isBehind,
  placeOf,
  type LogPosition,
} from '../../src/eventlog/log/position.ts'
import type { EventLog, RecordedEvent, SubscriptionMessage } from '../../src/eventlog/log/types.ts'
import { applyBatch, stepOf, type Batch, applyWithin } from './apply.ts'
import { BEFORE_FIRST, moveCheckpoint, type Checkpoint, type EventReference } from './checkpoint.ts'
import { startFeed, type FeedLimits } from './feed.ts'
import { LogOlderError, notMet } from './older-log.ts'
import type { Projection } from './types.ts'

/** Larger than live batches: no reader waits for a rebuild. */
const LIMITS: FeedLimits = { maxEvents: 8_000, maxBytes: 16 * 1024 * 1024 }
/** Most events that the swap itself may still have to apply. */
const MAX_TAIL_EVENTS = 50_000

export interface RebuildProgress {
  readonly projection: string
  readonly phase: 'reading' | 'indexing' | 'comparing' | 'swapping' | 'done'
  readonly events: number
  readonly eventsPerSecond: number
  readonly position: bigint
}

interface BuildOptions {
  readonly pool: Pool
  readonly log: EventLog
  readonly projection: Projection
  readonly schema: string
  readonly signal: AbortSignal
  readonly onProgress?: (progress: RebuildProgress) => void
  /** Build from a log that does not hold the last event that the live tables have applied. */
  readonly force?: boolean
}

/** Position of the live tables, and the last event up to it. */
export type Goal = Pick<Checkpoint, 'at' | 'lastEvent'>

type EventMessage = Extract<SubscriptionMessage, { readonly kind: 'event' }>

/** Events after `from` up to and including `goal`, as a feed takes them. */
async function* messagesTo(
  log: EventLog,
  from: LogPosition,
  goal: LogPosition | undefined,
  signal: AbortSignal,
): AsyncGenerator<EventMessage> {
  for await (const event of log.readAll({
    ...(isBehind(from, BEFORE_FIRST) && { from }),
    signal,
  })) {
    if (goal !== undefined && event.position > eventsThrough(goal)) return
    yield { kind: 'event', event }
  }
  signal.throwIfAborted()
}

/** Tables being built into a schema whose checkpoint is before the first event, and how far they have come. */
export class BuildTarget {
  readonly pool: Pool
  readonly projection: Projection
  readonly schema: string
  readonly #options: BuildOptions
  readonly #startedMs = monotonicClock.nowMs()
  #at = BEFORE_FIRST
  #last: EventReference | undefined
  #count = 0

  constructor(options: BuildOptions) {
    this.pool = options.pool
    this.projection = options.projection
    this.schema = options.schema
    this.#options = options
  }

  events(): number {
    return this.#count
  }

  say(phase: RebuildProgress['phase']): void {
    this.#options.onProgress?.({
      projection: this.projection.name,
      phase,
      events: this.#count,
      eventsPerSecond: Math.round(
        (this.#count * 1_000) / Math.max(1, monotonicClock.nowMs() - this.#startedMs),
      ),
      position: eventsThrough(this.#at),
    })
  }

  /**
   * Applies the events after the position of the tables, up to `goal` inclusive, or to the end of
   * the log without one. Returns the number of events.
   * @throws `log_unavailable` where the log is read to its end and the goal's last event was not
   *   met: the node that answered is behind; LogOlderError where the log does not hold it, unless
   *   forced
   */
  async readTo(goal: Goal | undefined): Promise<number> {
    const before = this.#count
    if (goal !== undefined && !isBehind(goal.at, this.#at)) return 0
    const { log, signal: stopped } = this.#options
    const stop = new AbortController()
    const signal = AbortSignal.any([stopped, stop.signal])
    const messages = messagesTo(log, this.#at, goal?.at, signal)
    const feed = startFeed(messages, LIMITS, {
      from: eventsThrough(this.#at),
      abort: () => stop.abort(),
    })
    try {
      for (;;) {
        const batch = await feed.next()
        stopped.throwIfAborted()
        if (batch === undefined) break
        await this.#apply(batch)
        this.say('reading')
      }
    } finally {
      await feed.close()
    }
    if (
      goal !== undefined &&
      (await this.#reaches(goal, this.#last)) &&
      isBehind(goal.at, this.#at)
    )
      await this.#apply({ events: [], at: goal.at })
    return this.#count - before
  }

  /** Applies the last few events inside the caller's transaction. */
  async finish(client: PoolClient, goal: Goal): Promise<void> {
    const { log, signal, projection, schema } = this.#options
    const at = this.#at
    const events: RecordedEvent[] = []
    for await (const { event } of messagesTo(log, at, goal.at, signal)) {
      events.push(event)
      if (events.length > MAX_TAIL_EVENTS) throw new Error('the live projection is too far ahead')
    }
    const lastRead = events.at(-1)
    const met = lastRead === undefined ? this.#last : stepOf({ events, at: goal.at }, at).lastEvent
    const isReached = !isBehind(at, goal.at) && (await this.#reaches(goal, met))
    const end = isReached ? goal.at : lastRead && placeOf(lastRead.position)
    if (end === undefined || !isBehind(end, at)) return
    const { version } = projection
    await moveCheckpoint(client, { name: schema, version, step: stepOf({ events, at: end }, at) })
    const handled = events.filter((event) => projection.handles.has(event.type))
    await applyWithin(client, projection, handled)
  }

  async #apply(batch: Batch): Promise<void> {
    await applyBatch(this.pool, this, batch, this.#at)
    this.#last = stepOf(batch, this.#at).lastEvent ?? this.#last
    this.#at = batch.at
    this.#count += batch.events.length
  }

  /**
   * Whether everything up to the goal was read when the log ended after `met`. The goal's position
   * may be beyond our last event, after events of other programs; our last event itself must have
   * been read. False only when a rebuild from an older log is forced: the events appended to it
   * later must not be skipped.
   */
  async #reaches({ lastEvent }: Goal, met: EventReference | undefined): Promise<boolean> {
    if (lastEvent === undefined || lastEvent.id === met?.id) return true
    const unmet = await notMet(this.#options.log, this.projection.name, lastEvent)
    if (!(unmet instanceof LogOlderError) || this.#options.force !== true) throw unmet
    return false
  }
}
