/** The only source of time: injected, so that tests may stop it. */
export interface Clock {
  /** Milliseconds. */
  readonly nowMs: () => number
}

/** A wall clock that differs by more than this was set, or its machine slept. */
const STEP_MS = 1_000
/** While what was set is followed, time runs at most this much faster, or slower. */
const FASTER = 1
const SLOWER = 0.5

/**
 * Unix time that never goes back and never jumps: a wall clock that is set forward or back while the
 * program runs is followed at no more than twice and no less than half the speed. A duration
 * measured by it (a lease, a deadline, a limit) then still lasts half its time at least and twice
 * at most.
 */
export function createSteadyClock(wall: Clock, monotonic: Clock): Clock {
  let atMs = wall.nowMs()
  let readMs = monotonic.nowMs()
  return {
    nowMs: () => {
      const elapsedMs = monotonic.nowMs() - readMs
      readMs += elapsedMs
      const expectedMs = atMs + elapsedMs
      const wallMs = wall.nowMs()
      const aheadMs = wallMs - expectedMs
      atMs =
        Math.abs(aheadMs) <= STEP_MS
          ? Math.max(atMs, wallMs)
          : expectedMs + Math.min(elapsedMs * FASTER, Math.max(-elapsedMs * SLOWER, aheadMs))
      return Math.floor(atMs)
    },
  }
}

/** For durations alone: it begins anywhere and is never set. */
export const monotonicClock: Clock = { nowMs: () => performance.now() }

/** Unix time as the machine has it, also right after it was set: for what others compare with theirs. */
export const wallClock: Clock = { nowMs: () => Date.now() }

/** Unix time, for what is written down and for what is compared with it. */
export const systemClock: Clock = createSteadyClock(wallClock, monotonicClock)

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
