import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import type { PlacedBatch } from './spool-record.ts'
import { SpoolUncertainError } from './spool-segment.ts'
import type { Spool } from './spool.ts'
import { logOutcomeUnknown } from '../log/errors.ts'
import type { EventLog, NewEvent } from '../log/types.ts'
import { monotonicClock } from '../../kernel/clock.ts'

/** How often a batch moves to a new stream because another process wrote to the current one. */
const MAX_MOVES = 3

interface WriterDeps {
  readonly log: EventLog
  readonly logger: Log
  readonly placement: Placement
  readonly route: Route
  readonly spool?: Spool | undefined
  /** Something was spooled. */
  readonly onSpooled: () => void
  readonly spoolAfterMs: number
}

/** The place in which a batch became durable: the log or the spool. */
export type WriteResult =
  | { readonly to: 'log'; readonly position: bigint | undefined }
  | { readonly to: 'spool' }

/**
 * Writes one batch into our stream, or into the spool when the log does not confirm in time or is
 * known to be away. One call at a time.
 * @throws what refused it; then the batch is not recorded, or (`log_outcome_unknown`) may be in a
 *   stream that is never used again
 */
export async function writeBatch(
  deps: WriterDeps,
  events: readonly NewEvent[],
): Promise<WriteResult> {
  const { placement, spool, route } = deps
  if (spool === undefined || route.toLog()) return appendBatch(deps, events, spool)
  const batch = placement.place(events, 'spool')
  const spooled = await trySpool(deps, spool, batch)
  if (spooled === 'yes') {
    placement.advance(events.length)
    return { to: 'spool' }
  }
  placement.leave()
  // The last resort is the log itself: an attempt costs nothing, even while the log counts as
  // unhealthy.
  return spooled === 'no' ? appendBatch(deps, events, undefined) : appendInPlace(deps, batch)
}

/**
 * Appends a batch that may be in the spool at the position recorded there, and nowhere else, so that
 * the next process recognises it. @throws `log_outcome_unknown`
 */
async function appendInPlace(deps: WriterDeps, batch: PlacedBatch): Promise<WriteResult> {
  const { stream, events, expected } = batch
  try {
    const { position } = await deps.log.append(stream, events, expected, {
      deadlineMs: deps.spoolAfterMs,
    })
    deps.route.answered()
    return { to: 'log', position }
  } catch (error) {
    throw maybeSpooled(stream, error)
  }
}

function maybeSpooled(stream: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return logOutcomeUnknown(stream, 1, `it may be in the spool, and the log: ${reason}`)
}

async function appendBatch(
  deps: WriterDeps,
  events: readonly NewEvent[],
  spool: Spool | undefined,
): Promise<WriteResult> {
  const { log, logger, placement, route } = deps
  for (let moves = 0; ; moves += 1) {
    const batch = placement.place(events, 'journal')
    try {
      const { position } = await log.append(batch.stream, events, batch.expected, {
        deadlineMs: deps.spoolAfterMs,
      })
      placement.advance(events.length)
      route.answered()
      return { to: 'log', position }
    } catch (error) {
      if (isDomainError(error, 'wrong_expected_revision') && moves < MAX_MOVES) {
        logger.error(
          { stream: batch.stream },
          'another process wrote to the journal stream; the gateway opens a new one',
        )
        placement.leave()
        continue
      }
      if (isRefusedForGood(error)) throw error
      // The batch may or may not be in this stream: nothing may be appended after it, and it is
      // retried only there.
      placement.leave()
      const spooled = spool === undefined ? 'no' : await trySpool(deps, spool, batch)
      if (spooled === 'no') throw error
      if (spooled === 'maybe') throw maybeSpooled(batch.stream, error)
      route.refused()
      return { to: 'spool' }
    }
  }
}

/** Whether the log answered with a permanent refusal: nothing was appended. */
export function isRefusedForGood(error: unknown): boolean {
  return (
    isDomainError(error, 'wrong_expected_revision') ||
    isDomainError(error, 'event_invalid') ||
    isDomainError(error, 'append_too_large')
  )
}

async function trySpool(
  deps: WriterDeps,
  spool: Spool,
  batch: PlacedBatch,
): Promise<'yes' | 'no' | 'maybe'> {
  try {
    await spool.append(batch)
  } catch (error) {
    deps.logger.error({ err: error }, 'settlements could not be spooled')
    return error instanceof SpoolUncertainError ? 'maybe' : 'no'
  }
  deps.onSpooled()
  return 'yes'
}

/** The appender of a batch: the journal immediately, or the spool later. */
type Carrier = 'journal' | 'spool'

/** The position of the next batch in a series of streams. */
interface Placement {
  /**
   * The position of the next batch; unchanged until `advance` or `leave`. The journal and the spool
   * never write to the same stream, so neither waits for the other and each knows the content of
   * its stream.
   */
  readonly place: (events: readonly NewEvent[], carrier: Carrier) => PlacedBatch
  /** The batch placed last is, or will certainly be, in its stream. */
  readonly advance: (events: number) => void
  /** Moves to a new stream, because the content of the present one is uncertain. */
  readonly leave: () => void
}

export function createPlacement(
  streamName: (n: number) => string,
  rotateAfterEvents: number,
): Placement {
  let n = 0
  let written = 0
  let carriedBy: Carrier = 'journal'
  const leave = () => {
    n += 1
    written = 0
  }
  return {
    place: (events, carrier) => {
      if (carrier !== carriedBy && written > 0) leave()
      carriedBy = carrier
      return {
        stream: streamName(n),
        expected: written === 0 ? 'no_stream' : BigInt(written - 1),
        events,
      }
    },
    advance: (events) => {
      written += events
      if (written >= rotateAfterEvents) leave()
    },
    leave,
  }
}

/**
 * Whether the next batch goes to the log, or straight to the spool because the log is unavailable.
 */
interface Route {
  readonly toLog: () => boolean
  /** The log did not append a batch in time; it waits in the spool now. */
  readonly refused: () => void
  /** The log took something. */
  readonly answered: () => void
}

/**
 * After a failure callers do not wait for the log: draining the spool shows when it answers again.
 * If the drain is blocked for another reason, the writer tries a log that counts as healthy again
 * after `retryMs`.
 */
export function createRoute(log: Pick<EventLog, 'healthy'>, retryMs: number): Route {
  let closedUntilMs = 0
  return {
    toLog: () => log.healthy() && monotonicClock.nowMs() >= closedUntilMs,
    refused: () => {
      closedUntilMs = monotonicClock.nowMs() + retryMs
    },
    answered: () => {
      closedUntilMs = 0
    },
  }
}
