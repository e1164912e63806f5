import { journalStream } from '../domain/call/events.ts'
import { isDomainError } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { createBackoff, pause } from './backoff.ts'
import type { PlacedBatch, Spool } from './spool.ts'
import type { EventLog } from './types.ts'

const APPEND_DEADLINE_MS = 5_000
const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 5_000
/** How long a stop waits for the append under way; it is repeated exactly at the next start. */
const STOP_WAIT_MS = 6_000

export interface Drain {
  /** There is something to drain. */
  readonly wake: () => void
  readonly stop: () => Promise<void>
}

/** Brings spooled batches into the log, oldest first, each exactly once; starts at once. */
export function startDrain(deps: {
  readonly log: EventLog
  readonly logger: Log
  readonly spool: Spool
}): Drain {
  const { spool, logger } = deps
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    const backoff = createBackoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS)
    let drained = 0
    while (!stopping.signal.aborted)
      try {
        const head = await spool.head()
        if (head === undefined) break
        await land(deps, head.batch)
        await head.done()
        drained += 1
        backoff.reset()
      } catch (error) {
        logger.warn({ err: error, waiting: spool.pendingTotal() }, 'spool waits for the log')
        await pause(backoff.nextMs(), stopping.signal)
      }
    if (drained > 0) logger.info({ batches: drained }, 'spool drained into the log')
  }
  const wake = () => {
    if (stopping.signal.aborted) return
    running ??= run().finally(() => {
      running = undefined
      if (spool.pendingTotal() > 0) wake()
    })
  }
  wake()
  return {
    wake,
    stop: async () => {
      stopping.abort()
      await Promise.race([running, pause(STOP_WAIT_MS)])
    },
  }
}

/** @throws while the log is away */
async function land(
  deps: { readonly log: EventLog; readonly logger: Log; readonly spool: Spool },
  batch: PlacedBatch,
): Promise<void> {
  const { log, logger, spool } = deps
  const deadline = { deadlineMs: APPEND_DEADLINE_MS }
  try {
    await log.append(batch.stream, batch.events, batch.expected, deadline)
  } catch (error) {
    if (isDomainError(error, 'wrong_expected_revision')) {
      await landElsewhere(deps, batch)
      return
    }
    if (!isDomainError(error, 'event_invalid') && !isDomainError(error, 'append_too_large'))
      throw error
    logger.error({ err: error, stream: batch.stream }, 'the log refuses a spooled batch for good')
    await spool.reject(batch)
  }
}

/**
 * The place of a batch is taken or not reached yet: only if the log lost events (an older backup)
 * or another process used our name. What is not there goes to a stream named after the batch, so
 * that doing this twice does it once.
 */
async function landElsewhere(
  deps: { readonly log: EventLog; readonly logger: Log },
  batch: PlacedBatch,
): Promise<void> {
  const present = new Set((await deps.log.readStream(batch.stream)).map((event) => event.id))
  const missing = batch.events.filter((event) => !present.has(event.id))
  const [first] = missing
  deps.logger.error(
    { stream: batch.stream, expected: String(batch.expected), missing: missing.length },
    'a spooled batch lost its place',
  )
  if (first === undefined) return
  await deps.log.append(journalStream(first.id, 0), missing, 'no_stream', {
    deadlineMs: APPEND_DEADLINE_MS,
  })
}
