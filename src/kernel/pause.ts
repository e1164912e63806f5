import { monotonicClock } from './clock.ts'
import { randomlyScaled, systemRandom, type Random } from './random.ts'

/** Pauses that double from `minMs` to `maxMs`, each spread over its upper half. */
interface Backoff {
  readonly nextMs: () => number
  readonly reset: () => void
}

export function createBackoff(
  minMs: number,
  maxMs: number,
  random: Random = systemRandom,
): Backoff {
  let baseMs = minMs
  return {
    nextMs: () => {
      const pauseMs = randomlyScaled(baseMs, 0.5, 1, random)
      baseMs = Math.min(baseMs * 2, maxMs)
      return pauseMs
    },
    reset: () => {
      baseMs = minMs
    },
  }
}

/** Resolves after a pause, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || signal?.aborted === true) {
      resolve()
      return
    }
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}

/** Roomy pauses end at multiples of this wherever they can, rather at those of its powers of two. */
const MOMENT_MS = 250
/** Differs between processes, so that replicas do not wake together. */
const phaseMs = systemRandom() * 64 * MOMENT_MS
/** The roomy pauses that end at a moment, which one timer ends together. */
const moments = new Map<
  number,
  { readonly timer: NodeJS.Timeout; readonly ends: Set<() => void> }
>()

/** The moment in a stretch of time that most roomy pauses share; undefined if there is none. */
export function sharedMoment(fromMs: number, untilMs: number): number | undefined {
  let shared: number | undefined
  for (let gridMs = MOMENT_MS; gridMs <= untilMs; gridMs *= 2) {
    const lastMs = Math.floor(untilMs / gridMs) * gridMs
    if (lastMs < fromMs) break
    shared = lastMs
  }
  return shared
}

/**
 * Resolves after a pause of at least `leastMs` and at most `mostMs`, or at once when the signal
 * aborts. Such pauses end together where they can: to wake an idle process costs more than its work.
 */
export function roomyPause(leastMs: number, mostMs: number, signal: AbortSignal): Promise<void> {
  const nowMs = monotonicClock.nowMs() + phaseMs
  const atMs = sharedMoment(nowMs + leastMs, nowMs + mostMs)
  if (atMs === undefined) return pause(leastMs + systemRandom() * (mostMs - leastMs), signal)
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener('abort', done)
      ends.delete(done)
      if (ends.size === 0) endMoment(atMs)
      resolve()
    }
    const ends = endsAt(atMs, atMs - nowMs)
    ends.add(done)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

function endsAt(atMs: number, inMs: number): Set<() => void> {
  const known = moments.get(atMs)
  if (known !== undefined) return known.ends
  const ends = new Set<() => void>()
  const timer = setTimeout(() => {
    for (const end of ends) end()
  }, Math.ceil(inMs))
  moments.set(atMs, { timer, ends })
  return ends
}

function endMoment(atMs: number): void {
  clearTimeout(moments.get(atMs)?.timer)
  moments.delete(atMs)
}

/** Ends pauses early. */
export interface Alarm {
  /** Ends the pauses of now; a ring without a pause is lost. */
  readonly ring: () => void
  /** Resolves after a pause, or at once when the signal aborts or the alarm rings. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

export function createAlarm(): Alarm {
  let rung = new AbortController()
  return {
    ring: () => {
      rung.abort()
      rung = new AbortController()
    },
    pause: (ms, signal) => pause(ms, AbortSignal.any([signal, rung.signal])),
  }
}

/**
 * The result of a promise, or of `late` if the promise takes longer; a later rejection is left to
 * the promise's next awaiter.
 */
export async function withTimeout<Value, Late>(
  ms: number,
  work: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    return await Promise.race([work, over.then(late)])
  } finally {
    clearTimeout(timer)
  }
}
