/** A column or member that is not as the log says, with both values as text; null is none. */
export interface Difference {
  readonly field: string
  readonly log: string | null
  readonly stands: string | null
}

/** One thing that is not as the promises say. */
export interface Finding {
  readonly code:
    | 'success_without_settlement'
    | 'settlement_without_success'
    | 'settled_twice'
    | 'settled_outside_quote'
    | 'line_not_exact'
    | 'sum_not_exact'
    | 'price_not_in_book'
    /** The tenant's prices that a line names do not give its price. */
    | 'account_price_wrong'
    /** Priced by what was in force before, longer after the change than a replica may be late. */
    | 'account_price_outdated'
    /** A read model has nothing at all of an event it must have applied. */
    | 'event_not_applied'
    | 'row_missing'
    | 'row_unexplained'
    | 'row_differs'
    /** The hash chain over the lines is not the log's, and no row says why. */
    | 'chain_broken'
    | 'read_model_stopped'
    | 'read_model_behind'
    /** Too much is wrong to say whether this is. */
    | 'not_compared'
  /** The table, e.g. `ledger.lines`; `log` for what is wrong in the log itself. */
  readonly table: string
  /** What the row is told by: its key, in words where there are several columns. */
  readonly key: string
  /** Position in the log it belongs to; empty where there is none. */
  readonly position: string
  readonly message: string
  readonly differences?: readonly Difference[]
}

/** Findings kept; more are counted only. */
export const MAX_FINDINGS = 1_000

/** The first findings, and how many there are: memory stays flat however much is wrong. */
export class Findings {
  readonly kept: Finding[] = []
  count = 0
  readonly #tables = new Set<string>()

  /** Whether anything was found of tables whose name begins so. */
  of(prefix: string): boolean {
    return [...this.#tables].some((table) => table.startsWith(prefix))
  }

  push(...found: readonly Finding[]): void {
    for (const { table } of found) this.#tables.add(table)
    this.#keep(found, found.length)
  }

  /** Adds all that others found beside this one. */
  add(others: Findings): void {
    for (const table of others.#tables) this.#tables.add(table)
    this.#keep(others.kept, others.count)
  }

  #keep(found: readonly Finding[], count: number): void {
    this.count += count
    const room = MAX_FINDINGS - this.kept.length
    if (room > 0) this.kept.push(...found.slice(0, room))
  }
}
