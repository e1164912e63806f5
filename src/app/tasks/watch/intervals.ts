import { randomlyScaled, type Random } from '../../../kernel/random.ts'
import type { PollKind } from '../../../../projections/tasks/query.ts'
import type { DueHorizon } from '../../queue/tables.ts'

/** Times of the next poll of a task: pure, in milliseconds. */

/** The pause between polls of a young task. */
const SHORTEST_POLL_MS = 1_000
/** The pause between polls of an old task; in between, a tenth of its age. */
const LONGEST_POLL_MS = 15_000
const SHARE_OF_AGE = 10
/** Upstream reports that the task does not exist: it is polled until its expiry, but rarely. */
export const GONE_POLL_MS = 60_000
/** Length of a lease for repeated polls. */
export const POLL_LEASE_MS = 150_000
/** After a failed query: twice the interval, within these bounds. */
const SHORTEST_FAILED_MS = 2_000
const LONGEST_FAILED_MS = 30_000
/** The reconciler looks for an unknown submission immediately, then less and less often. */
const FIRST_RECONCILE_MS = 5_000
const LONGEST_RECONCILE_MS = 300_000
/** The watch over given-up tasks looks less and less often. */
const FIRST_WATCH_MS = 60_000
const LONGEST_WATCH_MS = 3_600_000
/** No lease lasts longer. */
const LONGEST_LEASE_MS = 600_000
/** Spreads tasks that were created together. */
const JITTER = 0.1

/** The pause between two polls of a task of this age; `scale` multiplies it. */
export function pollIntervalMs(ageMs: number, scale: number): number {
  const wanted = ageMs / SHARE_OF_AGE
  return Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, wanted)) * scale
}

/** The pause after a poll without an answer; at least the pause that upstream requested. */
export function failedPollMs(
  ageMs: number,
  scale: number,
  retryAfterMs: number | undefined,
): number {
  const doubled = 2 * pollIntervalMs(ageMs, 1)
  const bounded = Math.min(LONGEST_FAILED_MS, Math.max(SHORTEST_FAILED_MS, doubled)) * scale
  return Math.max(bounded, retryAfterMs ?? 0)
}

/** The pause after the n-th search for an unknown submission, from 1. */
export function reconcileIntervalMs(attempts: number, scale: number): number {
  const doubled = FIRST_RECONCILE_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16)
  return Math.min(LONGEST_RECONCILE_MS, doubled) * scale
}

/**
 * Time of the next look for a given-up task after the n-th one, from 1: at full multiples of the
 * pause, so that one list serves all tasks that are due then.
 */
export function nextWatchMs(nowMs: number, attempts: number, scale: number): number {
  const doubled = FIRST_WATCH_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16)
  const pauseMs = Math.min(LONGEST_WATCH_MS, doubled) * scale
  return (Math.floor(nowMs / pauseMs) + 1) * pauseMs
}

/**
 * Maximum time until each kind of work is due: a later time comes from a clock that was set back
 * since.
 *
 * @param longestMakingMs the longest time to the end of a task that a worker makes
 */
export function farthestDue(
  scale: number,
  longestMakingMs: number,
): Readonly<Record<PollKind, DueHorizon>> {
  const spreadOut = Math.max(1, scale) * (1 + JITTER)
  const leaseMs = LONGEST_LEASE_MS
  return {
    poll: { leaseMs: POLL_LEASE_MS, waitMs: GONE_POLL_MS * spreadOut },
    reconcile: { leaseMs, waitMs: LONGEST_RECONCILE_MS * spreadOut },
    watch: { leaseMs, waitMs: LONGEST_WATCH_MS * spreadOut },
    make: { leaseMs, waitMs: LONGEST_LEASE_MS * spreadOut },
    finish: { leaseMs, waitMs: longestMakingMs },
  }
}

/** Changed randomly by at most a tenth either way. */
export function jittered(waitMs: number, random?: Random): number {
  return randomlyScaled(waitMs, 1 - JITTER, 1 + JITTER, random)
}

/** Time of the next look: at the latest the next moment that decides something. */
export function nextLookMs(
  nowMs: number,
  waitMs: number,
  ...decisiveMs: readonly (number | undefined)[]
): number {
  const ahead = decisiveMs.filter((moment) => moment !== undefined && moment > nowMs)
  return Math.min(nowMs + waitMs, ...ahead.map(Number))
}
