import type { Pool } from 'pg'
import { eventsThrough, isBehind, type LogPosition } from '../../src/eventlog/log/position.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { monotonicClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { Alarm } from '../../src/kernel/pause.ts'
import { requireHeld } from './older-log.ts'
import { BEFORE_FIRST } from './checkpoint.ts'
import { startFeed, type BatchReader, type Feed, type FeedBatch, type FeedLimits } from './feed.ts'
import { advanceAll, type Follower, indexFollower } from './follower.ts'

/**
 * Subscription groups of a leader session: followers that apply each batch together. All groups read one
 * subscription, so that an event is sent and decoded once. A group that falls behind the first one reads
 * its own subscription until it has caught up.
 */

/** A checkpoint that only passes other namespaces' events is written at most this often. */
const QUIET_CHECKPOINT_MS = 5_000

export interface GroupOptions {
  readonly pool: Pool
  readonly log: EventLog
  readonly logger: Log
  readonly limits: FeedLimits
  /** The least between the beginnings of two batches, unless a reader waits or the feed is full. */
  readonly applyIntervalMs: number
  /** Rings when a reader waits for an event that is not applied yet. */
  readonly wanted: Alarm
  /** After every batch that was applied. */
  readonly onProgress: () => void
}

export interface Group {
  readonly buffered: () => number
  readonly caughtUp: () => boolean
  /** Until the signal aborts. @throws on failure */
  readonly run: () => Promise<void>
}

/** The lowest position of the active followers; undefined when there are none. */
function lowest(followers: readonly Follower[]): LogPosition | undefined {
  return followers
    .filter(({ state }) => state === 'following')
    .map(({ at }) => at)
    .reduce<LogPosition | undefined>(
      (least, at) => (least === undefined || isBehind(least, at) ? at : least),
      undefined,
    )
}

async function applyOne(
  options: GroupOptions,
  followers: readonly Follower[],
  batch: FeedBatch,
): Promise<void> {
  const running = new Set(followers.filter(({ state }) => state === 'following'))
  await advanceAll(options.pool, followers, batch)
  for (const { state, stopped, projection } of running)
    if (state === 'stopped')
      options.logger.error({ projection: projection.name, ...stopped }, 'projection stopped')
  if (!batch.caughtUp) return
  for (const follower of followers)
    if (follower.state === 'following' && !follower.indexed)
      await indexFollower(options.pool, follower)
}

/** Whether writing this batch can wait: it has only events of other namespaces. */
function isQuiet(batch: FeedBatch, followers: readonly Follower[], lastWriteMs: number): boolean {
  if (batch.events.length > 0) return false
  if (batch.caughtUp && followers.some(({ state, indexed }) => state === 'following' && !indexed))
    return false
  return monotonicClock.nowMs() - lastWriteMs < QUIET_CHECKPOINT_MS
}

/** Applies batches of a reader until it ends, or until the last batch to take from it. */
async function follow(
  options: GroupOptions,
  followers: readonly Follower[],
  reader: BatchReader,
  signal: AbortSignal,
  isLast: (batch: FeedBatch) => boolean,
): Promise<'ended' | 'last'> {
  let lastWriteMs = Number.NEGATIVE_INFINITY
  for (;;) {
    const batch = await reader.next()
    if (signal.aborted || batch === undefined) return 'ended'
    let nextMs = Number.NEGATIVE_INFINITY
    if (!isQuiet(batch, followers, lastWriteMs)) {
      nextMs = monotonicClock.nowMs() + options.applyIntervalMs
      await applyOne(options, followers, batch)
      lastWriteMs = monotonicClock.nowMs()
    }
    options.onProgress()
    if (isLast(batch)) return 'last'
    if (!reader.isFull()) await options.wanted.pause(nextMs - monotonicClock.nowMs(), signal)
  }
}

/**
 * Subscribes from the lowest position of the followers; ends if the log is not the one that they
 * follow.
 */
function subscribe(
  { pool, log, limits, wanted }: GroupOptions,
  followers: readonly Follower[],
  from: LogPosition,
  signal: AbortSignal,
): Feed {
  const stop = new AbortController()
  const subscribed = {
    ...(isBehind(from, BEFORE_FIRST) && { from }),
    onOpened: () =>
      requireHeld(
        log,
        pool,
        followers.flatMap(({ state, projection }) => (state === 'following' ? [projection] : [])),
      ),
    signal: AbortSignal.any([signal, stop.signal]),
  }
  const feed = startFeed(log.subscribe(subscribed), limits, {
    from: eventsThrough(from),
    abort: () => stop.abort(),
    onFull: wanted.ring,
  })
  signal.addEventListener('abort', () => void feed.close(), { once: true })
  return feed
}

/** The group that reads its own subscription always, and its feed. Undefined when none of them follows. */
export function openFirstGroup(
  options: GroupOptions,
  followers: readonly Follower[],
  signal: AbortSignal,
): { readonly group: Group; readonly feed: Feed } | undefined {
  const from = lowest(followers)
  if (from === undefined) return undefined
  const feed = subscribe(options, followers, from, signal)
  let live = false
  const note = ({ caughtUp }: FeedBatch): boolean => {
    live ||= caughtUp
    return false
  }
  const run = async (): Promise<void> => {
    try {
      await follow(options, followers, feed, signal, note)
      if (!signal.aborted) throw new Error('the subscription ended')
    } finally {
      await feed.close()
    }
  }
  const caughtUp = (): boolean => live && feed.buffered() === 0
  return { group: { buffered: feed.buffered, caughtUp, run }, feed }
}

/**
 * A group that shares the feed of the first one wherever it keeps up with it. Undefined when none of its followers
 * follows.
 */
export function openSharingGroup(
  options: GroupOptions,
  followers: readonly Follower[],
  signal: AbortSignal,
  first: Feed | undefined,
): Group | undefined {
  if (lowest(followers) === undefined) return undefined
  let reader: BatchReader | undefined
  let live = false

  /**
   * Reads a separate subscription until the shared feed continues from its position without a gap.
   */
  const catchUp = async (from: LogPosition): Promise<BatchReader | undefined> => {
    const feed = subscribe(options, followers, from, signal)
    reader = feed
    let shared: BatchReader | undefined
    let after = 0n
    try {
      const ended = await follow(options, followers, feed, signal, (batch) => {
        live ||= batch.caughtUp
        if (batch.caughtUp && shared === undefined && first !== undefined) {
          after = first.readThrough()
          shared = first.share()
        }
        const at = lowest(followers)
        return shared !== undefined && (at === undefined || eventsThrough(at) >= after)
      })
      if (ended === 'ended' && !signal.aborted) throw new Error('the subscription ended')
      return shared
    } finally {
      await feed.close()
    }
  }

  const run = async (): Promise<void> => {
    for (let from = lowest(followers); from !== undefined && !signal.aborted;) {
      live = false
      reader = await catchUp(from)
      if (reader === undefined) return
      await follow(options, followers, reader, signal, () => false)
      from = lowest(followers)
    }
  }
  return {
    buffered: () => reader?.buffered() ?? 0,
    caughtUp: () => live && reader?.buffered() === 0,
    run,
  }
}
