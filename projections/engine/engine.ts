import type { Pool } from 'pg'
import { eventsThrough } from '../../src/eventlog/log/position.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createRetryLog } from '../../src/kernel/retry-log.ts'
import { createAlarm, createBackoff, pause } from '../../src/kernel/pause.ts'
import { createBesideBuilder } from './shadow-builder.ts'
import { messageOf } from './failures.ts'
import type { FeedLimits } from './feed.ts'
import { ENGINE, tryLead } from './leadership.ts'
import { type LeaderSession, runLeaderSession } from './leader-session.ts'
import { secondsSince, type ProjectionStatus } from './status.ts'
import type { Projection } from './types.ts'
import { WANTED_CHANNEL } from './wait.ts'

/** Bounds of one batch: the memory of the engine is a few of them. */
const FEED_LIMITS: FeedLimits = { maxEvents: 2_000, maxBytes: 4 * 1024 * 1024 }
/**
 * Minimum time between the starts of batches, so that events which arrive meanwhile share the next
 * one: many small transactions cost more processor time than everything else about a call. A batch
 * begins sooner when a reader waits for a position, or when the feed is full; events after a pause
 * are applied immediately.
 */
const APPLY_INTERVAL_MS = 250
/** How often a process that is not the leader requests the lock. */
const CANDIDATE_INTERVAL_MS = 1_000
/** How long a program that is older than a read model leaves the leadership to a newer one. */
const YIELD_MS = 3 * CANDIDATE_INTERVAL_MS
/** Pause between a failed leader session and the next try. */
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000

export interface EngineOptions {
  /** Needs one connection per projection and one that holds the leadership. */
  readonly pool: Pool
  readonly log: EventLog
  readonly projections: readonly Projection[]
  readonly clock: Clock
  readonly logger: Log
  /** Ends the engine, as `stop` does. */
  readonly signal?: AbortSignal
  readonly limits?: FeedLimits
  /** The least between the beginnings of two batches, unless a reader waits or the feed is full. */
  readonly applyIntervalMs?: number
}

/** State of this process; `readStatus` reports it for all processes. */
interface EngineStatus {
  /** Whether this process is the one that moves the projections. */
  readonly leading: boolean
  /** Whether another process was found to move them. */
  readonly following: boolean
  /** Whether the leader has applied everything the log had. */
  readonly caughtUp: boolean
  /** The failure after which it restarted, until it works again. */
  readonly lastError: string | undefined
  /** Empty while this process does not lead. */
  readonly projections: readonly ProjectionStatus[]
}

export interface Engine {
  readonly status: () => EngineStatus
  /** Finishes the batch in hand and gives the leadership back. */
  readonly stop: () => Promise<void>
}

function statusOf(current: LeaderSession | undefined, nowMs: number): readonly ProjectionStatus[] {
  if (!current) return []
  const furthest = current.followers.reduce(
    (most, { events }) => (events > most ? events : most),
    0n,
  )
  const seen = furthest + BigInt(current.buffered())
  const end = current.followers.reduce(
    (most, { at }) => (eventsThrough(at) > most ? eventsThrough(at) : most),
    -1n,
  )
  return current.followers.map((follower) => {
    const lagEvents = Number(seen - follower.events)
    const position = eventsThrough(follower.at)
    const behind = lagEvents > 0 || position < end || !current.caughtUp()
    return {
      name: follower.projection.name,
      state: follower.state,
      position,
      lagEvents,
      lagSeconds: behind ? secondsSince(follower.recordedAt, nowMs) : 0,
      stopped: follower.stopped,
    }
  })
}

/** Result of trying to lead. @throws the failure that ended the leader session. */
async function leadOnce(
  options: EngineOptions,
  stopping: AbortSignal,
  notify: {
    /** Undefined: it is over. */
    readonly onSession: (begun: LeaderSession | undefined) => void
    readonly onProgress: () => void
  },
): Promise<'led' | 'yielded' | 'another leads'> {
  const { pool, log, projections, clock, logger } = options
  const { limits = FEED_LIMITS, applyIntervalMs = APPLY_INTERVAL_MS } = options
  const wanted = createAlarm()
  const listen = { channel: WANTED_CHANNEL, onNotified: wanted.ring }
  const leadership = await tryLead(pool, ENGINE, { listen })
  if (!leadership) return 'another leads'
  try {
    const signal = AbortSignal.any([stopping, leadership.lost])
    logger.info({ projections: projections.map(({ name }) => name) }, 'leading the projections')
    const outdated = await runLeaderSession({
      pool,
      log,
      projections,
      clock,
      logger,
      signal,
      limits,
      applyIntervalMs,
      wanted,
      ...notify,
    })
    leadership.lost.throwIfAborted()
    return outdated ? 'yielded' : 'led'
  } finally {
    notify.onSession(undefined)
    await leadership.release()
  }
}

/**
 * Keeps the projections up to date from one subscription for as long as this process leads; until
 * then it waits for the leadership. Any failure of Postgres or the log ends the leader session;
 * after a pause it starts again from the checkpoints. Needs `migrateEngine` before.
 */
export function startProjections(options: EngineOptions): Engine {
  const { pool, log, projections, clock, logger } = options
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted === true) stop()

  let current: LeaderSession | undefined
  let following = false
  let lastError: string | undefined
  const backoff = createBackoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
  const retries = createRetryLog(logger)

  const beside = createBesideBuilder({ pool, log, projections, logger, signal: stopping.signal })

  const listeners = {
    onSession: (begun: LeaderSession | undefined) => {
      current = begun
      following = false
    },
    onProgress: () => {
      lastError = undefined
      backoff.reset()
      retries.worked()
    },
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      try {
        const outcome = await leadOnce(options, stopping.signal, listeners)
        following = outcome !== 'led'
        if (outcome === 'yielded') await pause(YIELD_MS, stopping.signal)
        if (outcome !== 'another leads') continue
        lastError = undefined
        beside.begin()
        await pause(CANDIDATE_INTERVAL_MS, stopping.signal)
      } catch (error) {
        following = false
        lastError = messageOf(error)
        retries.failed({ err: error }, 'projections start again')
        await pause(backoff.nextMs(), stopping.signal)
      }
    }
  })()

  return {
    status: () => ({
      leading: current !== undefined,
      following,
      caughtUp: current?.caughtUp() ?? false,
      lastError,
      projections: statusOf(current, clock.nowMs()),
    }),
    stop: async () => {
      stop()
      await running
      await beside.idle()
      options.signal?.removeEventListener('abort', stop)
    },
  }
}
