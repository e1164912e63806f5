import type { Pool, PoolClient } from 'pg'
import { monotonicClock } from '../../src/kernel/clock.ts'
import { eventsThrough, isBehind, type LogPosition } from '../../src/eventlog/log/position.ts'
import type { EventLog, RecordedEvent, SubscriptionMessage } from '../../src/eventlog/log/types.ts'
import { applyBatch, stepOf, type Batch } from './apply.ts'
import { BEFORE_FIRST, moveCheckpoint } from './checkpoint.ts'
import { startFeed, type FeedLimits } from './feed.ts'
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
}

/** The tables being built, and how far they have come. */
export interface BuildTarget {
  readonly pool: Pool
  readonly projection: Projection
  readonly schema: string
  /**
   * Applies what comes after where the tables stand, up to `goal` inclusive, or to the end of
   * the log without one. Returns how many events that were.
   */
  readonly readTo: (goal: LogPosition | undefined) => Promise<number>
  /** The same inside the caller's transaction, for the few events at the end. */
  readonly finish: (client: PoolClient, goal: LogPosition) => Promise<void>
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
    at = batch.at
    count += batch.events.length
  }

  return {
    pool,
    projection,
    schema,
    events: () => count,
    say,
    readTo: async (goal) => {
      const before = count
      if (goal !== undefined && !isBehind(goal, at)) return 0
      const stop = new AbortController()
      const signal = AbortSignal.any([options.signal, stop.signal])
      const feed = startFeed(messagesTo(log, at, goal, signal), LIMITS, () => stop.abort())
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
      // The live checkpoint may stand beyond our last event: others' events went by.
      if (goal !== undefined && isBehind(goal, at)) await apply({ events: [], at: goal })
      return count - before
    },
    finish: async (client, goal) => {
      const events: RecordedEvent[] = []
      for await (const { event } of messagesTo(log, at, goal, options.signal)) {
        events.push(event)
        if (events.length > MAX_TAIL_EVENTS) throw new Error('the live projection is too far ahead')
      }
      if (!isBehind(goal, at)) return
      const { version } = projection
      await moveCheckpoint(client, {
        name: schema,
        version,
        step: stepOf({ events, at: goal }, at),
      })
      const handled = events.filter((event) => projection.handles.has(event.type))
      if (handled.length > 0) await projection.apply(client, handled)
    },
  }
}
