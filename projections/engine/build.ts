import type { Pool, PoolClient } from 'pg'
import { monotonicClock } from '../../src/kernel/clock.ts'
import {
  eventsThrough,
  isBehind,
  placeOf,
  type LogPosition,
} from '../../src/eventlog/log/position.ts'
import type { EventLog, RecordedEvent, SubscriptionMessage } from '../../src/eventlog/log/types.ts'
import { applyBatch, stepOf, type Batch } from './apply.ts'
import { BEFORE_FIRST, moveCheckpoint, type Checkpoint, type EventReference } from './checkpoint.ts'
import { startFeed, type FeedLimits } from './feed.ts'
import { LogOlderError, notMet } from './older-log.ts'
import type { Projection } from './types.ts'

/** Larger than those of live batches: nobody waits for what a rebuild writes. */
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

export interface BuildOptions {
  readonly pool: Pool
  readonly log: EventLog
  readonly projection: Projection
  readonly schema: string
  readonly signal: AbortSignal
  readonly onProgress?: (progress: RebuildProgress) => void
  /** Build from a log that does not hold the last event that the live tables have applied. */
  readonly force?: boolean
}

/** How far the live tables have come: a place, and the last event up to there. */
export type Goal = Pick<Checkpoint, 'at' | 'lastEvent'>

/** The tables being built, and how far they have come. */
export interface BuildTarget {
  readonly pool: Pool
  readonly projection: Projection
  readonly schema: string
  /**
   * Applies what comes after where the tables stand, up to `goal` inclusive, or to the end of
   * the log without one. Returns how many events that were.
   * @throws `log_unavailable` where the log is read to its end and the goal's last event was not met:
   * the node that answered is behind; LogOlderError where the log does not hold it, unless forced
   */
  readonly readTo: (goal: Goal | undefined) => Promise<number>
  /** The same inside the caller's transaction, for the few events at the end. */
  readonly finish: (client: PoolClient, goal: Goal) => Promise<void>
  readonly events: () => number
  readonly say: (phase: RebuildProgress['phase']) => void
}

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

/** Begins to build into a schema whose checkpoint is before the first event. */
export function build(options: BuildOptions): BuildTarget {
  const { pool, log, projection, schema } = options
  const startedMs = monotonicClock.nowMs()
  let at = BEFORE_FIRST
  let last: EventReference | undefined
  let count = 0

  const say = (phase: RebuildProgress['phase']): void =>
    options.onProgress?.({
      projection: projection.name,
      phase,
      events: count,
      eventsPerSecond: Math.round(
        (count * 1_000) / Math.max(1, monotonicClock.nowMs() - startedMs),
      ),
      position: eventsThrough(at),
    })

  const apply = async (batch: Batch): Promise<void> => {
    await applyBatch(pool, { projection, schema }, batch, at)
    last = stepOf(batch, at).lastEvent ?? last
    at = batch.at
    count += batch.events.length
  }

  /**
   * Whether everything up to the goal was read, the log having ended after `met`. Its place may lie
   * beyond our last event, where others' events went by; that event itself must have been met. False
   * only when an older log is built from by force: what it is given next must not be passed over.
   */
  const reaches = async (
    { lastEvent }: Goal,
    met: EventReference | undefined,
  ): Promise<boolean> => {
    if (lastEvent === undefined || lastEvent.id === met?.id) return true
    const unmet = await notMet(log, projection.name, lastEvent)
    if (!(unmet instanceof LogOlderError) || options.force !== true) throw unmet
    return false
  }

  return {
    pool,
    projection,
    schema,
    events: () => count,
    say,
    readTo: async (goal) => {
      const before = count
      if (goal !== undefined && !isBehind(goal.at, at)) return 0
      const stop = new AbortController()
      const signal = AbortSignal.any([options.signal, stop.signal])
      const feed = startFeed(messagesTo(log, at, goal?.at, signal), LIMITS, () => stop.abort())
      try {
        for (;;) {
          const batch = await feed.next()
          options.signal.throwIfAborted()
          if (batch === undefined) break
          await apply(batch)
          say('reading')
        }
      } finally {
        await feed.close()
      }
      if (goal !== undefined && (await reaches(goal, last)) && isBehind(goal.at, at))
        await apply({ events: [], at: goal.at })
      return count - before
    },
    finish: async (client, goal) => {
      const events: RecordedEvent[] = []
      for await (const { event } of messagesTo(log, at, goal.at, options.signal)) {
        events.push(event)
        if (events.length > MAX_TAIL_EVENTS) throw new Error('the live projection is too far ahead')
      }
      const lastRead = events.at(-1)
      const met = lastRead === undefined ? last : stepOf({ events, at: goal.at }, at).lastEvent
      const isReached = !isBehind(at, goal.at) && (await reaches(goal, met))
      const end = isReached ? goal.at : lastRead && placeOf(lastRead.position)
      if (end === undefined || !isBehind(end, at)) return
      const { version } = projection
      await moveCheckpoint(client, { name: schema, version, step: stepOf({ events, at: end }, at) })
      const handled = events.filter((event) => projection.handles.has(event.type))
      if (handled.length > 0) await projection.apply(client, handled)
    },
  }
}
