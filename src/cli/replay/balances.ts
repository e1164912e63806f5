import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { currencies, formatAmount, parseAmount, type Currency } from '../../kernel/money.ts'
import { table, toJson } from '../output.ts'
import type { KnownTask } from './as-of.ts'

interface Sums {
  creditPico: bigint
  settledPico: bigint
  heldPico: bigint
  limitPico: bigint
}

/** What a tenant had, owed and had promised, per currency: folded from its events. */
export class BalanceFold {
  readonly #sums = new Map<Currency, Sums>()

  /** Takes an event of the tenant. */
  addEvent(event: RecordedEvent): void {
    if (event.type === 'CreditGranted' || event.type === 'AdjustmentPosted')
      this.#of(event.data.currency).creditPico += parseAmount(event.data.amount)
    else if (event.type === 'CreditLimitSet')
      this.#of(event.data.currency).limitPico = parseAmount(event.data.limit)
    else if (event.type === 'TaskSettled' || event.type === 'CallSettled') {
      const { currency, amount } = event.data.settlement
      this.#of(currency).settledPico += parseAmount(amount)
    }
  }

  /** Takes a task as it stood: while it is open, its hold is promised. */
  addTask(state: KnownTask): void {
    if (state.phase === 'ended' || state.phase === 'refused') return
    const { currency, hold } = state.request.quote
    this.#of(currency).heldPico += parseAmount(hold)
  }

  /** The sums as a table, or as one line of JSON. */
  lines(json: boolean | undefined): readonly string[] {
    const balances = currencies.flatMap((currency) => {
      const sums = this.#sums.get(currency)
      if (!sums) return []
      const { creditPico, settledPico, heldPico, limitPico } = sums
      return {
        currency,
        credit: formatAmount(creditPico),
        settled: formatAmount(settledPico),
        held: formatAmount(heldPico),
        limit: formatAmount(limitPico),
        available: formatAmount(creditPico + limitPico - settledPico - heldPico),
      }
    })
    if (json) return [toJson({ balances })]
    if (balances.length === 0) return []
    const rows = balances.map((b) => [
      b.currency,
      b.credit,
      b.settled,
      b.held,
      b.limit,
      b.available,
    ])
    return ['', ...table(['currency', 'credit', 'settled', 'held', 'limit', 'available'], rows)]
  }

  #of(currency: Currency): Sums {
    const found = this.#sums.get(currency)
    if (found) return found
    const fresh = { creditPico: 0n, settledPico: 0n, heldPico: 0n, limitPico: 0n }
    this.#sums.set(currency, fresh)
    return fresh
  }
}
