import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import type { Placement } from './placement.ts'
import type { Route } from './route.ts'
import type { PlacedBatch } from './spool-record.ts'
import type { Spool } from './spool.ts'
import type { EventLog, NewEvent } from '../log/types.ts'

/** Times a batch moves to a new stream because somebody else wrote to ours. */
const MAX_MOVES = 3

export interface WriterDeps {
  readonly log: EventLog
  readonly logger: Log
  readonly placement: Placement
  readonly route: Route
  readonly spool?: Spool | undefined
  /** Something was spooled. */
  readonly onSpooled: () => void
  readonly spoolAfterMs: number
}

/** Where a batch became durable. */
export type Written =
  | { readonly to: 'log'; readonly position: bigint | undefined }
  | { readonly to: 'spool' }

/**
 * Writes one batch into our stream, or into the spool when the log does not confirm in time or is
 * known to be away. One call at a time.
 * @throws what refused it; then it is nowhere, or (`log_outcome_unknown`) in a stream that is
 *   left for good
 */
export async function writeBatch(deps: WriterDeps, events: readonly NewEvent[]): Promise<Written> {
  const { placement, spool, route } = deps
  if (spool === undefined || route.toLog()) return appendBatch(deps, events, spool)
  if (await isSpooled(deps, spool, placement.place(events, 'spool'))) {
    placement.advance(events.length)
    return { to: 'spool' }
  }
  placement.leave()
  // The last resort: whatever is known of the log, nothing is lost by asking it.
  return appendBatch(deps, events, undefined)
}

async function appendBatch(
  deps: WriterDeps,
  events: readonly NewEvent[],
  spool: Spool | undefined,
): Promise<Written> {
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
        logger.error({ stream: batch.stream }, 'somebody else wrote to our journal; moving on')
        placement.leave()
        continue
      }
      if (isRefusedForGood(error)) throw error
      // It may be in our stream or not: nobody may build on that, and only there is it tried again.
      placement.leave()
      if (spool === undefined || !(await isSpooled(deps, spool, batch))) throw error
      route.refused()
      return { to: 'spool' }
    }
  }
}

/** Whether the log answered, and will say the same whenever it is asked: nothing was appended. */
export function isRefusedForGood(error: unknown): boolean {
  return (
    isDomainError(error, 'wrong_expected_revision') ||
    isDomainError(error, 'event_invalid') ||
    isDomainError(error, 'append_too_large')
  )
}

async function isSpooled(deps: WriterDeps, spool: Spool, batch: PlacedBatch): Promise<boolean> {
  try {
    await spool.append(batch)
  } catch (error) {
    deps.logger.error({ err: error }, 'settlements could not be spooled')
    return false
  }
  deps.onSpooled()
  return true
}
