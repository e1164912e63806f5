import type { Log } from '../../kernel/log.ts'
import { roomyPause } from '../../kernel/pause.ts'

/** Interval at which replicas exchange their usage, varied by a tenth. */
const EXCHANGE_EVERY_MS = 1_000

/** Exchanges data between replicas about once a second until stopped, and one last time then. */
export function startExchangeLoop(deps: {
  readonly exchange: () => Promise<void>
  /** For the log. */
  readonly of: string
  readonly logger: Log
}): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const running = (async () => {
    let isFailing = false
    while (!stopping.signal.aborted) {
      await roomyPause(0.9 * EXCHANGE_EVERY_MS, 1.1 * EXCHANGE_EVERY_MS, stopping.signal)
      try {
        await deps.exchange()
        isFailing = false
      } catch (error) {
        // Logged once, not every second: operators monitor Postgres anyway.
        if (!isFailing)
          deps.logger.warn(
            { err: error },
            `${deps.of} are not exchanged between replicas at the moment`,
          )
        isFailing = true
      }
    }
  })()
  return {
    stop: () => {
      stopping.abort()
      return running
    },
  }
}
