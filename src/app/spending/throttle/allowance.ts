/** How long it takes until a limit that is used up is whole again. */
const MINUTE_MS = 60_000
/**
 * More than a limit can be used: by a call that took more than was expected of it, and by replicas
 * that did not yet know of each other. It is paid back before anything new starts, but never for
 * longer than a further minute.
 */
export const MOST_USED_PER_LIMIT = 2
/** Figures that were divided on their way are not exact: a thousandth of anything is nothing. */
const TOLERANCE = 0.001

/** How long an amount takes to flow back. */
function flowingMs(amount: number, perMinute: number): number {
  return Math.max(0, Math.ceil((amount * MINUTE_MS) / perMinute - TOLERANCE))
}

/**
 * One limit per minute of one token as this process knows it: what is used flows back evenly, so
 * that an unused limit may be taken at once and over time no more than the limit a minute. Two
 * numbers, however much is used.
 *
 * The limit comes with every question, because it may change at any time.
 */
export class Allowance {
  #used = 0
  #atMs: number
  /** Of `#used`, what the other replicas have not been told; negative when something came back. */
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

  /** What may be taken now, whole. */
  remaining(perMinute: number, nowMs: number): number {
    return Math.max(0, Math.floor(perMinute - this.used(perMinute, nowMs) + TOLERANCE))
  }

  /** Until this amount may be taken; 0 when it may be now. More than the limit may never be. */
  waitMs(amount: number, perMinute: number, nowMs: number): number {
    const missing = this.used(perMinute, nowMs) + amount - perMinute
    return missing <= TOLERANCE ? 0 : flowingMs(missing, perMinute)
  }

  /** Until nothing is used. */
  resetMs(perMinute: number, nowMs: number): number {
    return flowingMs(this.used(perMinute, nowMs), perMinute)
  }

  /** Takes an amount, whether or not it is there; a negative one comes back. */
  take(amount: number, perMinute: number, nowMs: number): void {
    this.#used = Math.max(0, this.used(perMinute, nowMs) + amount)
    this.#untold += amount
  }

  /** What the others have to be told; it counts as told from now on. */
  tell(perMinute: number, nowMs: number): number {
    // What has flowed back since need not be told.
    const untold = Math.min(this.#untold, this.used(perMinute, nowMs))
    this.#untold = 0
    return untold
  }

  /** Telling failed. */
  untell(untold: number): void {
    this.#untold += untold
  }

  /** What all replicas used together, as far as they have told. */
  learn(usedByAll: number, nowMs: number): void {
    this.#used = Math.max(0, usedByAll + this.#untold)
    this.#atMs = nowMs
  }

  /** Whether there is nothing to remember. */
  isWhole(perMinute: number, nowMs: number): boolean {
    return this.#untold >= 0 && this.used(perMinute, nowMs) <= TOLERANCE
  }
}
