import { formatDuration } from './duration.ts'
import { readTime } from './read-time.ts'

/** The only source of time: injected, so that tests may stop it. */
export interface Clock {
  /** Milliseconds. */
  readonly nowMs: () => number
}

/** Unix time that follows a wall clock. */
export interface SteadyClock extends Clock {
  /** How far the wall clock is ahead of it, in milliseconds; negative: behind. */
  readonly offMs: () => number
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
export function createSteadyClock(wall: Clock, monotonic: Clock): SteadyClock {
  let atMs = wall.nowMs()
  let readMs = monotonic.nowMs()
  const nowMs = (): number => {
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
  }
  return {
    nowMs,
    offMs: () => {
      const ownMs = nowMs()
      return wall.nowMs() - ownMs
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
export const systemClock: SteadyClock = createSteadyClock(wallClock, monotonicClock)

/**
 * A process whose clock is further behind the machine's ends, to be started again: it would follow for as long as the
 * machine slept, with late times in all that it records. A clock that was set back ends no process, since a new one
 * would record times before those of the log.
 */
export const MAX_CLOCK_AHEAD_MS = 900_000
const CLOCK_LOOK_MS = 5_000

/**
 * Calls once, with the reason, when the machine's clock is too far ahead to be followed. Returns what ends the watch.
 */
export function watchClock(
  clock: Pick<SteadyClock, 'offMs'>,
  tooFar: (reason: string) => void,
  everyMs: number = CLOCK_LOOK_MS,
): () => Promise<void> {
  const look = (): void => {
    const offMs = clock.offMs()
    if (offMs <= MAX_CLOCK_AHEAD_MS) return
    clearInterval(timer)
    tooFar(clockFault(offMs) ?? '')
  }
  const timer = setInterval(look, everyMs).unref()
  return () => Promise.resolve(clearInterval(timer))
}

/** Says that the machine's clock was set, or that it slept; undefined while the clock agrees with it. */
export function clockFault(offMs: number): string | undefined {
  if (Math.abs(offMs) <= STEP_MS) return undefined
  const direction = offMs > 0 ? 'ahead of' : 'behind'
  return `the machine's clock is ${formatDuration(Math.abs(offMs))} ${direction} this process: it was set, or the machine slept`
}

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
