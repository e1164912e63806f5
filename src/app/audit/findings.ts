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
    | 'line_missing'
    | 'line_unexplained'
    | 'line_differs'
    | 'balance_differs'
    | 'table_inconsistent'
    | 'ledger_stopped'
    | 'ledger_behind'
  readonly sourceId: string
  readonly position: string
  readonly message: string
}

/** Findings kept; more are counted only. */
export const MAX_FINDINGS = 1_000

/** The first findings, and how many there are: memory stays flat however much is wrong. */
export class Findings {
  readonly kept: Finding[] = []
  count = 0

  push(...found: readonly Finding[]): void {
    this.count += found.length
    const room = MAX_FINDINGS - this.kept.length
    if (room > 0) this.kept.push(...found.slice(0, room))
  }
}
