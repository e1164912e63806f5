import type { Clock } from '../../kernel/clock.ts'
import type { Reported } from './replica-reports.ts'

/**
 * A row that did not change is written again after this, because its age says whether its replica lives: far less than
 * after which a replica counts as silent (`replica-reports.ts`).
 */
const REPEAT_AFTER_MS = 3_000

/**
 * The rows of one gauge as far as this process knows them to stand in the table of reports. A replica reports while it
 * is alone, too, because its rows are not for other replicas only:
 *
 * - A hold is counted by admissions of tasks, of this process as well, by pages and commands that show a balance, and by
 *   the check before an account is closed. It counts until it is written over, or its replica is silent.
 * - A settlement with a position is counted by the same, and by the next process if this one dies, until the ledger has
 *   the position. It ends by itself: its row is never taken back.
 * - A settlement whose position is not yet known counts until it is written over, or its replica is silent and the
 *   ledger has what the log then had; one in a spool until the spool is emptied or given up (`lost-spools.ts`).
 *
 * A process that begins later cannot ask this one for them, which may be dead by then. So left out are only rows that no
 * reader needs: one that stands there already and is not so old that its replica could count as silent, one that says
 * nothing where none stands there that says more, and settlements that the ledger has, since who reads the row reads
 * the ledger in the same statement or later.
 */
export class WrittenRows {
  readonly #clock: Clock
  /** Undefined where it is not certain what stands there. */
  #known: { readonly rows: readonly Reported[]; readonly atMs: number } | undefined
  #mayLast = false

  /** @param clock only durations are measured with it, so it must be monotonic */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a row may stand there that counts until it is written over. */
  get mayLast(): boolean {
    return this.#mayLast
  }

  /** Whether these rows must be written, by a ledger that was seen at a position. */
  mustWrite(rows: readonly Reported[], ledgerAt: bigint): boolean {
    if (!this.#mayLast && !rows.some((row) => counts(row, ledgerAt))) return false
    const known = this.#known
    return (
      known === undefined ||
      this.#clock.nowMs() - known.atMs >= REPEAT_AFTER_MS ||
      !isSame(rows, known.rows)
    )
  }

  /** From here on the table may have these rows or those before: the answer to the write may be lost. */
  sent(rows: readonly Reported[]): void {
    this.#known = undefined
    this.#mayLast ||= rows.some(lasts)
  }

  /** The table has these rows, and no later ones were sent. */
  arrived(rows: readonly Reported[]): void {
    this.#known = { rows, atMs: this.#clock.nowMs() }
    this.#mayLast = rows.some(lasts)
  }
}

/** Whether the others count something of a row, once the ledger is at a position. */
function counts({ held, settled, position }: Reported, ledgerAt: bigint): boolean {
  return held !== 0n || (settled !== 0n && !(position !== undefined && position <= ledgerAt))
}

/** Whether a row counts until it is written over. */
function lasts({ held, settled, position }: Reported): boolean {
  return held !== 0n || (settled !== 0n && position === undefined)
}

function isSame(some: readonly Reported[], others: readonly Reported[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, index) => {
      const other = others[index]
      return (
        one.unit === other?.unit &&
        one.held === other.held &&
        one.settled === other.settled &&
        one.position === other.position &&
        one.spool === other.spool
      )
    })
  )
}
