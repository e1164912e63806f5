import type { Clock } from '../../kernel/clock.ts'

/**
 * Time within which a ledger that went back must pass its earlier position; afterwards it is used
 * as it is.
 */
const CATCH_UP_MS = 30_000

/** Position that the ledger certainly had reached when a query was sent. */
export interface LedgerMark {
  readonly position: bigint
  /** Number of times that the known position was replaced. */
  readonly era: number
}

/**
 * The highest position of the ledger that any query of this process has seen. A crash of Postgres
 * or a failover can set the ledger back, because the projector does not wait for the disk. Then
 * this process no longer counts settlements that the ledger lacks again, and reservations of other
 * processes may be lost as well: a decision by such a reading would spend a balance twice. So a
 * lower reading is ignored until the ledger has passed the earlier position, and the positions of
 * holds in the log that this process knows. A ledger that does not get there, because the log was
 * set back with it, is used as it is after `CATCH_UP_MS`.
 */
export class LedgerFloor {
  readonly #clock: Clock
  #highest = -1n
  #appended = -1n
  #era = 0
  #back: { readonly until: bigint; readonly sinceMs: number } | undefined

  /** @param clock only durations are measured with it, so it must be monotonic */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Taken before a query is sent. */
  mark(): LedgerMark {
    return { position: this.#back?.until ?? this.#highest, era: this.#era }
  }

  /** The log has a hold of this process there. */
  appended(position: bigint): void {
    if (position > this.#appended) this.#appended = position
  }

  /** Whether a query that was sent at the mark, and read this position, may be decided by. */
  allows(position: bigint, sent: LedgerMark): boolean {
    if (sent.era !== this.#era) return false
    const until = this.#back?.until ?? sent.position
    if (position >= until) {
      this.#back = undefined
      if (position > this.#highest) this.#highest = position
      return true
    }
    const nowMs = this.#clock.nowMs()
    if (this.#back === undefined) {
      const furthest = this.#appended > this.#highest ? this.#appended : this.#highest
      this.#back = { until: furthest, sinceMs: nowMs }
    }
    if (nowMs - this.#back.sinceMs < CATCH_UP_MS) return false
    this.#back = undefined
    this.#highest = position
    this.#appended = position
    this.#era += 1
    return true
  }

  /**
   * Number of times that the known position was replaced: positions of different eras cannot be
   * compared.
   */
  get era(): number {
    return this.#era
  }
}
