/** Where time enters: injected, so that tests may hold it still. */
export interface Clock {
  /** Unix milliseconds. */
  readonly nowMs: () => number
}

export const systemClock: Clock = { nowMs: () => Date.now() }

/** For durations alone: it begins anywhere and is never set back. */
export const monotonicClock: Clock = { nowMs: () => performance.now() }

/** RFC 3339 with milliseconds, UTC. @throws RangeError for what is no time */
export function toTimestamp(unixMs: number): string {
  return new Date(unixMs).toISOString()
}

/** Unix milliseconds of an RFC 3339 time. @throws RangeError when it is not a time. */
export function fromTimestamp(text: string): number {
  const unixMs = Date.parse(text)
  if (Number.isNaN(unixMs)) throw new RangeError(`not a time: ${text}`)
  return unixMs
}
