import type { Pool, PoolClient } from 'pg'
import type { EventLog, RecordedEvent, SubscriptionMessage } from '../../src/eventlog/types.ts'
import { applyBatch, stepOf, type Batch } from './apply.ts'
import { BEFORE_FIRST, moveCheckpoint } from './checkpoint.ts'
import { startFeed, type FeedLimits } from './feed.ts'
import type { Projection } from './types.ts'

const LIMITS: FeedLimits = { maxEvents: 2_000, maxBytes: 4 * 1024 * 1024 }
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
   * Applies what comes after where the tables stand, up to and including `goal`, or to the end of
   * the log without one. Returns how many events that were.
   */
  readonly readTo: (goal: bigint | undefined) => Promise<number>
  /** The same inside the caller's transaction, for the few events at the end. */
  readonly finish: (client: PoolClient, goal: bigint) => Promise<void>
  readonly events: () => number
  readonly say: (phase: RebuildProgress['phase']) => void
}

/** Events after `from` up to and including `goal`. */
async function* eventsTo(
  log: EventLog,
  from: bigint,
  goal: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  for await (const event of log.readAll({ ...(from > BEFORE_FIRST && { from }), signal })) {
    if (goal !== undefined && event.position > goal) return
    yield event
  }
  signal.throwIfAborted()
}

async function* asMessages(
  events: AsyncIterable<RecordedEvent>,
): AsyncGenerator<SubscriptionMessage> {
  for await (const event of events) yield { kind: 'event', event }
}

/** Begins to build into a schema whose checkpoint is before the first event. */
export function build(options: BuildOptions): BuildTarget {
  const { pool, log, projection, schema } = options
  const startedMs = performance.now()
  let position = BEFORE_FIRST
  let count = 0

  const say = (phase: RebuildProgress['phase']): void =>
    options.onProgress?.({
      projection: projection.name,
      phase,
      events: count,
      eventsPerSecond: Math.round((count * 1_000) / Math.max(1, performance.now() - startedMs)),
      position,
    })

  const apply = async (batch: Batch): Promise<void> => {
    await applyBatch(pool, { projection, schema }, batch, position)
    position = batch.position
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
      if (goal !== undefined && goal <= position) return 0
      const stop = new AbortController()
      const signal = AbortSignal.any([options.signal, stop.signal])
      const feed = startFeed(asMessages(eventsTo(log, position, goal, signal)), LIMITS, () =>
        stop.abort(),
      )
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
      if (goal !== undefined && goal > position) await apply({ events: [], position: goal })
      return count - before
    },
    finish: async (client, goal) => {
      const events: RecordedEvent[] = []
      for await (const event of eventsTo(log, position, goal, options.signal)) {
        events.push(event)
        if (events.length > MAX_TAIL_EVENTS) throw new Error('the live projection is too far ahead')
      }
      if (goal <= position) return
      await moveCheckpoint(client, schema, stepOf({ events, position: goal }, position))
      const handled = events.filter((event) => projection.handles.has(event.type))
      if (handled.length > 0) await projection.apply(client, handled)
    },
  }
}
