import { isDomainError } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { logUnavailable } from './errors.ts'
import type { Placement } from './journal-placement.ts'
import type { PlacedBatch, Spool } from './spool.ts'
import type { EventLog, NewEvent } from './types.ts'

/** Times a batch moves to a new stream because somebody else wrote to ours. */
const MAX_MOVES = 3

export interface WriterDeps {
  readonly log: EventLog
  readonly logger: Log
  readonly placement: Placement
  readonly spool?: Spool | undefined
  /** Something was spooled. */
  readonly onSpooled: () => void
  readonly spoolAfterMs: number
}

/** Where a batch became durable. */
export type Written =
  { readonly to: 'log'; readonly position: bigint | undefined } | { readonly to: 'spool' }

/**
 * Writes one batch at its place in our stream, or spools it with that place when the log does not
 * confirm in time. One call at a time.
 * @throws what refused it; then it is nowhere, or (`log_outcome_unknown`) in a stream that is
 *   left for good
 */
export async function writeBatch(deps: WriterDeps, events: readonly NewEvent[]): Promise<Written> {
  const { placement, spool } = deps
  const written =
    spool !== undefined && spool.pending() > 0
      ? // What is spooled comes first: our stream must keep its order.
        await spoolBatch(deps, placement.place(events), logUnavailable('the log is away'))
      : await appendBatch(deps, events)
  placement.advance(events.length)
  return written
}

async function appendBatch(deps: WriterDeps, events: readonly NewEvent[]): Promise<Written> {
  const { log, logger, placement } = deps
  for (let moves = 0; ; moves += 1) {
    const batch = placement.place(events)
    try {
      const { position } = await log.append(batch.stream, events, batch.expected, {
        deadlineMs: deps.spoolAfterMs,
      })
      return { to: 'log', position }
    } catch (error) {
      if (isDomainError(error, 'log_unavailable') || isDomainError(error, 'log_outcome_unknown'))
        return spoolBatch(deps, batch, error)
      if (!isDomainError(error, 'wrong_expected_revision') || moves >= MAX_MOVES) throw error
      logger.error({ stream: batch.stream }, 'somebody else wrote to our journal; moving on')
      placement.rotate()
    }
  }
}

async function spoolBatch(deps: WriterDeps, batch: PlacedBatch, error: Error): Promise<Written> {
  const { spool, logger, placement } = deps
  if (spool !== undefined)
    try {
      await spool.append(batch)
      deps.onSpooled()
      return { to: 'spool' }
    } catch (spoolError) {
      logger.error({ err: spoolError }, 'settlements could not be spooled')
    }
  // It may be in our stream or not: nobody may build on that.
  if (isDomainError(error, 'log_outcome_unknown')) placement.rotate()
  throw error
}
