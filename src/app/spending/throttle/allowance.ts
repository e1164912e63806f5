/** How long a used-up limit takes to be fully available again. */
const MINUTE_MS = 60_000
/**
 * More than a limit can be used: by a call that took more than expected, and by replicas that had
 * not yet exchanged their use. The excess is paid back before anything new starts, but for at most
 * one further minute.
 */
export const MOST_USED_PER_LIMIT = 2
/** Divided figures are not exact: less than a thousandth counts as nothing. */
const TOLERANCE = 0.001

/** How long an amount takes to flow back. */
function flowingMs(amount: number, perMinute: number): number {
  return Math.max(0, Math.ceil((amount * MINUTE_MS) / perMinute - TOLERANCE))
}

/**
 * One limit per minute of one token as this process knows it. Used amounts flow back evenly, so an
 * unused limit may be taken at once, and over time no more than the limit per minute. It keeps two
 * numbers, however much is used.
 *
 * Every method takes the limit as a parameter, because it may change at any time.
 */
export class Allowance {
  #used = 0
  #atMs: number
  /** The part of `#used` that the other replicas do not know; negative when something came back. */
  #untold = 0

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  /** What is used now, at most twice the limit. */
  used(perMinute: number, nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    const left = this.#used - (elapsedMs * perMinute) / MINUTE_MS
    this.#used = Math.min(Math.max(0, left), perMinute * MOST_USED_PER_LIMIT)
    this.#atMs = nowMs
    return this.#used
  }

  /** How much may be taken now, rounded down. */
  remaining(perMinute: number, nowMs: number): number {
    return Math.max(0, Math.floor(perMinute - this.used(perMinute, nowMs) + TOLERANCE))
  }

  /** Milliseconds until this amount may be taken, or 0. More than the limit never may be. */
  waitMs(amount: number, perMinute: number, nowMs: number): number {
    const missing = this.used(perMinute, nowMs) + amount - perMinute
    return missing <= TOLERANCE ? 0 : flowingMs(missing, perMinute)
  }

  /** Milliseconds until nothing is used. */
  resetMs(perMinute: number, nowMs: number): number {
    return flowingMs(this.used(perMinute, nowMs), perMinute)
  }

  /** Takes an amount, whether or not it is available; a negative amount is returned. */
  take(amount: number, perMinute: number, nowMs: number): void {
    this.#used = Math.max(0, this.used(perMinute, nowMs) + amount)
    this.#untold += amount
  }

  /** Returns what to report to the other replicas, and counts it as reported from now on. */
  tell(perMinute: number, nowMs: number): number {
    // What has flowed back since need not be reported.
    const untold = Math.min(this.#untold, this.used(perMinute, nowMs))
    this.#untold = 0
    return untold
  }

  /** The report failed: the amount is to be reported again. */
  untell(untold: number): void {
    this.#untold += untold
  }

  /** Takes in what all replicas used together, as far as they reported. */
  learn(usedByAll: number, nowMs: number): void {
    this.#used = Math.max(0, usedByAll + this.#untold)
    this.#atMs = nowMs
  }

  /** Whether there is nothing to remember. */
  isWhole(perMinute: number, nowMs: number): boolean {
    return this.#untold >= 0 && this.used(perMinute, nowMs) <= TOLERANCE
  }
}
