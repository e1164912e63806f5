/** A column or member that differs from the log, with both values as text; null is none. */
export interface Difference {
  readonly field: string
  readonly log: string | null
  readonly stands: string | null
}

/** One violation of a promise. */
export interface Finding {
  readonly code:
    | 'success_without_settlement'
    | 'settlement_without_success'
    | 'settled_twice'
    | 'settled_outside_quote'
    /** A task is settled for another tenant, user or token than requested it. */
    | 'settled_for_another'
    /** The settlement of a task differs from the cost of its request, usage and result. */
    | 'task_settled_otherwise'
    | 'line_not_exact'
    | 'sum_not_exact'
    /** A line of a call counts something else than its usage by the rule that it names. */
    | 'line_not_of_usage'
    /** A call used units that no line of it bills. */
    | 'usage_not_billed'
    | 'price_not_in_book'
    /** The price book of a settlement begins after the request, or was replaced long before it. */
    | 'price_book_not_in_effect'
    /** The tenant's prices that a line names do not give its price. */
    | 'account_price_wrong'
    /** The line has an earlier price, longer after the change than a replica may be late. */
    | 'account_price_outdated'
    /** A posting, a credit limit or an approval that the approvals in force at its position forbade. */
    | 'approval_missing'
    /** The numbers or the beginning of a closed month do not follow from the closes before it. */
    | 'period_gap'
    /** Figures or counts of a closed month are not those of its postings. */
    | 'period_figures_wrong'
    /** The root of a closed month is not that of its postings and of what the close says. */
    | 'period_root_wrong'
    /** No key that was published before signed the head of a closed month, or it is another head. */
    | 'period_signature_wrong'
    /** A read model has no trace of an event it must have applied. */
    | 'event_not_applied'
    /** A read model passed over an event that contradicts earlier ones. */
    | 'event_passed_over'
    | 'row_missing'
    | 'row_unexplained'
    | 'row_differs'
    /** The hash chain over the lines differs from the log's, and no row explains it. */
    | 'chain_broken'
    | 'read_model_stopped'
    | 'read_model_behind'
    /** A comparison was left out, because too much else is wrong. */
    | 'not_compared'
  /** The table, e.g. `ledger.lines`; `log` for a fault in the log itself. */
  readonly table: string
  /** The row's key; with several columns, as readable text. */
  readonly key: string
  /** Position in the log; empty when there is none. */
  readonly position: string
  readonly message: string
  readonly differences?: readonly Difference[]
}

/** Findings kept; further ones are only counted. */
export const MAX_FINDINGS = 1_000

/** The first findings, and the number of all: memory stays bounded however much is wrong. */
export class Findings {
  readonly kept: Finding[] = []
  count = 0
  readonly #tables = new Set<string>()

  /** Whether there is a finding about a table whose name has this prefix. */
  of(prefix: string): boolean {
    return [...this.#tables].some((table) => table.startsWith(prefix))
  }

  /** Whether a kept finding is about the event at this position. */
  at(position: string): boolean {
    return this.kept.some((finding) => finding.position === position)
  }

  push(...found: readonly Finding[]): void {
    for (const { table } of found) this.#tables.add(table)
    this.#keep(found, found.length)
  }

  /** Adds the findings of a parallel comparison. */
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

/** Folds events as a read model does; undefined, and a finding, if the read model refuses them. */
export function folded<T>(
  findings: Findings,
  name: Pick<Finding, 'table' | 'key'> & { readonly position?: string },
  fold: () => T,
): T | undefined {
  try {
    return fold()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const message = `the read model refuses its events: ${why}`
    findings.push({ code: 'not_compared', position: '', ...name, message })
    return undefined
  }
}
