/** No decision uses a reading older than this, or a read model further behind. */
export const MAX_LAG_MS = 30_000
/** Before a request is refused, a balance or a lag older than this is read again. */
export const RECHECK_AFTER_MS = 100
/** Before a request is refused by a valid reading, it waits at most this long for a new one. */
export const RECHECK_WAIT_MS = 250
