import { unreachable } from '../../kernel/assert.ts'

/**
 * Decides whether a channel is worth trying for one user: a pure state machine that takes the
 * time as a parameter. Closed, it counts failures in a window; open, it refuses all calls until a
 * pause is over; half open, it lets a few probes through and follows their outcome.
 */

export interface BreakerSettings {
  /** Failures and successes older than this are forgotten. */
  readonly windowMs: number
  /** The breaker opens at this weight of failures in the window, if they are also `failureShare` of all calls. */
  readonly minimumFailures: number
  /** The failures' share of all calls in the window at which the breaker opens, 0 to 1. */
  readonly failureShare: number
  /** First pause; it doubles with every failed probe up to the longest. */
  readonly pauseMs: number
  readonly longestPauseMs: number
  /** Probes in parallel while half open. */
  readonly maxProbes: number
  /** Probes that must succeed in a row to close it. */
  readonly probesToClose: number
  /** Weight of a failure after an answer has begun: the channel works, but this answer was cut. */
  readonly brokenAnswerWeight: number
  /**
   * Failures of one tenant that count when the channel is judged for all tenants, and of one user
   * when it is judged for a tenant.
   */
  readonly maxFailuresOfOne: number
}

export const defaultBreakerSettings: BreakerSettings = {
  windowMs: 30_000,
  minimumFailures: 5,
  failureShare: 0.5,
  pauseMs: 2_000,
  longestPauseMs: 30_000,
  maxProbes: 1,
  probesToClose: 2,
  brokenAnswerWeight: 0.5,
  maxFailuresOfOne: 3,
}

interface Counts {
  readonly startedAtMs: number
  readonly successes: number
  readonly failures: number
}

export type BreakerState =
  | { readonly kind: 'closed'; readonly current: Counts; readonly previous: Counts }
  | { readonly kind: 'open'; readonly untilMs: number; readonly pauseMs: number }
  | {
      readonly kind: 'half_open'
      readonly pauseMs: number
      readonly probes: number
      readonly succeeded: number
      /** A probe that never reports must not block the channel for ever. */
      readonly probeUntilMs: number
    }

const noCounts = (startedAtMs: number): Counts => ({ startedAtMs, successes: 0, failures: 0 })

/** A breaker without any outcome yet. */
export function closedBreaker(nowMs: number): BreakerState {
  return { kind: 'closed', current: noCounts(nowMs), previous: noCounts(nowMs) }
}

/** A breaker that asks for probes before it lets more through. */
export function probingBreaker(settings: BreakerSettings): BreakerState {
  // The first failed probe doubles this to the first pause.
  return {
    kind: 'half_open',
    pauseMs: settings.pauseMs / 2,
    probes: 0,
    succeeded: 0,
    probeUntilMs: 0,
  }
}

/** Whether a call may be tried now. */
export function mayCall(state: BreakerState, nowMs: number, settings: BreakerSettings): boolean {
  switch (state.kind) {
    case 'closed':
      return true
    case 'open':
      return nowMs >= state.untilMs
    case 'half_open':
      return state.probes < settings.maxProbes || nowMs >= state.probeUntilMs
    default:
      return unreachable(state)
  }
}

/** A call is tried: an open breaker whose pause is over becomes half open. */
export function onCall(
  state: BreakerState,
  nowMs: number,
  settings: BreakerSettings,
): BreakerState {
  const probeUntilMs = nowMs + settings.longestPauseMs
  switch (state.kind) {
    case 'closed':
      return state
    case 'open':
      return { kind: 'half_open', pauseMs: state.pauseMs, probes: 1, succeeded: 0, probeUntilMs }
    case 'half_open':
      return nowMs >= state.probeUntilMs
        ? { ...state, probes: 1, probeUntilMs }
        : { ...state, probes: state.probes + 1, probeUntilMs }
    default:
      return unreachable(state)
  }
}

/** Two windows, the older one counted whole until the newer is full: cheap, and steady enough. */
function rolled(
  state: Extract<BreakerState, { kind: 'closed' }>,
  nowMs: number,
  windowMs: number,
): Extract<BreakerState, { kind: 'closed' }> {
  const age = nowMs - state.current.startedAtMs
  if (age < windowMs / 2) return state
  const previous = age < windowMs ? state.current : noCounts(nowMs)
  return { kind: 'closed', current: noCounts(nowMs), previous }
}

/** A call ended well. */
export function onSuccess(
  state: BreakerState,
  nowMs: number,
  settings: BreakerSettings,
): BreakerState {
  switch (state.kind) {
    case 'closed': {
      const fresh = rolled(state, nowMs, settings.windowMs)
      return { ...fresh, current: { ...fresh.current, successes: fresh.current.successes + 1 } }
    }
    case 'open':
      // A late answer to a call from before the breaker opened shows nothing about the current
      // health.
      return state
    case 'half_open': {
      const succeeded = state.succeeded + 1
      return succeeded >= settings.probesToClose
        ? closedBreaker(nowMs)
        : { ...state, succeeded, probes: Math.max(0, state.probes - 1) }
    }
    default:
      return unreachable(state)
  }
}

/** A call ended without showing anything about the channel. */
export function onNeutral(state: BreakerState): BreakerState {
  return state.kind === 'half_open' ? { ...state, probes: Math.max(0, state.probes - 1) } : state
}

/** A call failed because of the channel; `weight` is at most 1. */
export function onFailure(
  state: BreakerState,
  nowMs: number,
  settings: BreakerSettings,
  weight = 1,
): BreakerState {
  switch (state.kind) {
    case 'closed': {
      const fresh = rolled(state, nowMs, settings.windowMs)
      const current = { ...fresh.current, failures: fresh.current.failures + weight }
      const failures = current.failures + fresh.previous.failures
      const all = failures + current.successes + fresh.previous.successes
      return failures >= settings.minimumFailures && failures >= all * settings.failureShare
        ? { kind: 'open', untilMs: nowMs + settings.pauseMs, pauseMs: settings.pauseMs }
        : { ...fresh, current }
    }
    case 'open':
      return state
    case 'half_open': {
      const pauseMs = Math.min(state.pauseMs * 2, settings.longestPauseMs)
      return { kind: 'open', untilMs: nowMs + pauseMs, pauseMs }
    }
    default:
      return unreachable(state)
  }
}
