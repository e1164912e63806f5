import { monotonicClock } from '../../kernel/clock.ts'
import type { EventLog } from '../log/types.ts'

/** Whether the next batch goes to the log, or straight to the spool because the log is away. */
export interface Route {
  readonly toLog: () => boolean
  /** The log did not take a batch in time; it waits in the spool now. */
  readonly refused: () => void
  /** The log took something. */
  readonly answered: () => void
}

/**
 * After a refusal nobody waits for the log: what is spooled is the probe. Should that be held up by
 * something of its own, a log that counts as healthy is tried again after `retryMs`.
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
