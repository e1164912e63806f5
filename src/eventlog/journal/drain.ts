import { monotonicClock } from '../../kernel/clock.ts'
import { journalStream } from '../../domain/call/events.ts'
import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { createBackoff, pause, withTimeout } from '../../kernel/pause.ts'
import { isRefusedForGood } from './writer.ts'
import type { PlacedBatch } from './spool-record.ts'
import type { Spool } from './spool.ts'
import type { EventLog } from '../log/types.ts'

const APPEND_DEADLINE_MS = 5_000
/**
 * While the log is unavailable, the drain tries the spooled batches this often, and so notices the
 * log's return.
 */
const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 1_000
/** Longest rest between two appends. */
const MAX_REST_MS = 1_000
/** An unavailable log is logged immediately, and then at this interval. */
const WARN_INTERVAL_MS = 30_000
/** How long a stop waits for the running append; the next start repeats it exactly. */
const STOP_WAIT_MS = 6_000
const STOP_POLL_MS = 20

interface DrainDeps {
  readonly log: EventLog
  readonly logger: Log
  readonly spool: Spool
  /** Bounds of one append. */
  readonly limits: { readonly maxDrainBytes: number; readonly maxDrainEvents: number }
  /** The log took something. */
  readonly onAnswer: () => void
}

interface Drain {
  /** There is something to drain. */
  readonly wake: () => void
  /** Continues for up to `graceMs` while the log answers, then ends. */
  readonly stop: (graceMs: number) => Promise<void>
  /** Why the last append failed; undefined once the log has answered again. */
  readonly failure: () => unknown
}

/**
 * Whether the log answered the last append of the drain; logs from time to time while it does not.
 */
function createReport(logger: Log, spool: Spool) {
  let saidMs: number | undefined
  let failure: unknown
  return {
    failure: () => failure,
    failed: (error: unknown) => {
      failure = error
      const nowMs = monotonicClock.nowMs()
      if (saidMs !== undefined && nowMs - saidMs < WARN_INTERVAL_MS) return
      saidMs = nowMs
      logger.warn({ err: error, waiting: spool.state().records }, 'spool waits for the log')
    },
    landed: () => {
      failure = undefined
      saidMs = undefined
    },
  }
}

/**
 * Brings spooled batches into the log, oldest first, many in one append, each exactly once; starts
 * immediately. One append runs at a time, and after each it pauses as long as the append took, so
 * that at least half of the log's time remains for new appends.
 */
export function startDrain(deps: DrainDeps): Drain {
  const { spool, logger, limits } = deps
  const stopping = new AbortController()
  const report = createReport(logger, spool)
  let running: Promise<void> | undefined
  let hurried = false

  const run = async (): Promise<void> => {
    const backoff = createBackoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS)
    let drained = 0
    while (!stopping.signal.aborted)
      try {
        const oldest = await spool.oldest(limits.maxDrainBytes)
        if (oldest === undefined) break
        const startedMs = monotonicClock.nowMs()
        const landed = await land(deps, oldest.batches)
        await oldest.drop(landed)
        drained += landed
        backoff.reset()
        report.landed()
        const restMs = Math.min(monotonicClock.nowMs() - startedMs, MAX_REST_MS)
        if (!hurried) await pause(restMs, stopping.signal)
      } catch (error) {
        report.failed(error)
        await pause(backoff.nextMs(), stopping.signal)
      }
    if (drained > 0) logger.info({ batches: drained }, 'spool drained into the log')
  }
  const wake = () => {
    if (stopping.signal.aborted) return
    running ??= run().finally(() => {
      running = undefined
      if (spool.state().batches > 0) wake()
    })
  }
  wake()
  return {
    wake,
    failure: report.failure,
    stop: async (graceMs) => {
      hurried = true
      const untilMs = monotonicClock.nowMs() + graceMs
      while (
        spool.state().batches > 0 &&
        report.failure() === undefined &&
        monotonicClock.nowMs() < untilMs
      )
        await pause(STOP_POLL_MS)
      stopping.abort()
      if (running !== undefined) await withTimeout(STOP_WAIT_MS, running, () => undefined)
    },
  }
}

/** Joins the first batch and those that directly follow it in its stream to one append. */
function joined(
  batches: readonly PlacedBatch[],
  maxEvents: number,
): { readonly batch: PlacedBatch; readonly count: number } | undefined {
  const [first, ...others] = batches
  if (first === undefined) return undefined
  const events = [...first.events]
  let next = first.expected === 'no_stream' ? 0n : first.expected + 1n
  let count = 1
  next += BigInt(first.events.length)
  for (const batch of others) {
    if (batch.stream !== first.stream || batch.expected !== next - 1n) break
    if (events.length + batch.events.length > maxEvents) break
    events.push(...batch.events)
    next += BigInt(batch.events.length)
    count += 1
  }
  return { batch: { ...first, events }, count }
}

/**
 * Appends the first of these batches to the log and returns how many. An append is atomic; when the
 * log already has batches that an earlier append grouped differently, fewer are tried, and at the
 * end each alone: the log recognises it by its place.
 * @throws while the log is away
 */
async function land(deps: DrainDeps, batches: readonly PlacedBatch[]): Promise<number> {
  const run = joined(batches, deps.limits.maxDrainEvents)
  if (run === undefined) return 0
  const { batch, count } = run
  // A file that cannot be cut is drained again at every start; the operator's decisions about its events stay.
  if (await deps.spool.isHandled(batch)) {
    if (count > 1) return land(deps, batches.slice(0, Math.floor(count / 2)))
    deps.logger.warn({ stream: batch.stream }, 'an operator decides on a spooled batch')
    return 1
  }
  try {
    await append(deps, batch)
    return count
  } catch (error) {
    if (!isRefusedForGood(error)) throw error
    if (count > 1) return land(deps, batches.slice(0, Math.floor(count / 2)))
    if (isDomainError(error, 'wrong_expected_revision')) await landElsewhere(deps, batch)
    else await reject(deps, batch, error)
    return 1
  }
}

/**
 * Sets a batch aside so that the next ones can be drained; the operator decides what to do with it.
 */
async function reject(deps: DrainDeps, batch: PlacedBatch, error: unknown): Promise<void> {
  await deps.spool.reject(batch)
  deps.logger.error(
    { err: error, stream: batch.stream, records: batch.events.length },
    'the log refuses spooled settlements for good: see `tollgate spool list`',
  )
}

async function append(deps: DrainDeps, batch: PlacedBatch): Promise<void> {
  const deadline = { deadlineMs: APPEND_DEADLINE_MS }
  await deps.log.append(batch.stream, batch.events, batch.expected, deadline)
  deps.onAnswer()
}

/**
 * The position of a batch in its stream is taken or not reached yet. This happens only if the log
 * lost events (an older backup), a batch before it was damaged on disk, or another process used
 * this journal's name. The missing events go to a stream named after the batch, so that a
 * repetition appends nothing.
 */
async function landElsewhere(deps: DrainDeps, batch: PlacedBatch): Promise<void> {
  const present = new Set((await deps.log.readStream(batch.stream)).map((event) => event.id))
  const missing = batch.events.filter((event) => !present.has(event.id))
  const [first] = missing
  deps.logger.error(
    { stream: batch.stream, expected: String(batch.expected), missing: missing.length },
    'a spooled batch lost its place',
  )
  if (first === undefined) return
  const elsewhere = journalStream(first.id, 0)
  try {
    await append(deps, { stream: elsewhere, expected: 'no_stream', events: missing })
  } catch (error) {
    if (!isRefusedForGood(error)) throw error
    await reject(deps, { ...batch, events: missing }, error)
  }
}
