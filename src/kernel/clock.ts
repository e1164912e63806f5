import { readTime } from './read-time.ts'

/** The only source of time: injected, so that tests may stop it. */
export interface Clock {
  /** Milliseconds. */
  readonly nowMs: () => number
}

/** If the wall clock differs by more than this, it was set, or the machine slept. */
const STEP_MS = 1_000
/** While it follows a clock that was set, time runs at most this much faster or slower. */
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

/** For durations only: its start is arbitrary, and it is never set. */
export const monotonicClock: Clock = { nowMs: () => performance.now() }

/**
 * The machine's Unix time, even right after it was set: for times that other machines compare with
 * theirs.
 */
export const wallClock: Clock = { nowMs: () => Date.now() }

/** Unix time, for recorded times and for comparisons with them. */
export const systemClock: Clock = createSteadyClock(wallClock, monotonicClock)

/** RFC 3339 with milliseconds, UTC. @throws RangeError for a value that is no time */
export function toTimestamp(unixMs: number): string {
  return new Date(unixMs).toISOString()
}

/** Unix milliseconds of an RFC 3339 time or a date. @throws RangeError when it is not a time. */
export function fromTimestamp(text: string): number {
  const unixMs = readTime(text)
  if (unixMs === undefined) throw new RangeError(`not a time: ${text}`)
  return unixMs
}

/** Unix milliseconds of a whole second as RFC 3339 in UTC. */
export function wholeSecond(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('.000Z', 'Z')
}
