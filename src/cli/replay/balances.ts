import { moneyEffectsOf } from '../../domain/any-event.ts'
import type { MoneyEffect } from '../../domain/event-facts.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { currencies, formatAmount, parseAmount, type Currency } from '../../kernel/money.ts'
import { table, toJson } from '../output.ts'

interface Sums {
  creditPico: bigint
  settledPico: bigint
  heldPico: bigint
  limitPico: bigint
}

/** What a tenant had, owed and had promised, per currency: folded from its events as the ledger does. */
export class BalanceFold {
  readonly #sums = new Map<Currency, Sums>()
  /** Holds that have not ended, by source: as many as tasks are open. */
  readonly #holds = new Map<string, { readonly currency: Currency; readonly amountPico: bigint }>()

  /** Takes an event of the tenant, in the order of the log. */
  addEvent(event: RecordedEvent): void {
    for (const movement of moneyEffectsOf(event)) this.#move(movement)
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

  #move(movement: MoneyEffect): void {
    switch (movement.kind) {
      case 'hold_placed': {
        const { sourceId, currency } = movement
        const amountPico = parseAmount(movement.amount)
        this.#holds.set(sourceId, { currency, amountPico })
        this.#of(currency).heldPico += amountPico
        break
      }
      case 'hold_ended': {
        const hold = this.#holds.get(movement.sourceId)
        if (!hold) break
        this.#holds.delete(movement.sourceId)
        this.#of(hold.currency).heldPico -= hold.amountPico
        break
      }
      case 'settled': {
        const { currency, amount } = movement.settled.settlement
        this.#of(currency).settledPico += parseAmount(amount)
        break
      }
      case 'granted':
      case 'adjusted':
        this.#of(movement.currency).creditPico += parseAmount(movement.amount)
        break
      case 'limit_set':
        this.#of(movement.currency).limitPico = parseAmount(movement.limit)
        break
    }
  }

  #of(currency: Currency): Sums {
    const found = this.#sums.get(currency)
    if (found) return found
    const fresh = { creditPico: 0n, settledPico: 0n, heldPico: 0n, limitPico: 0n }
    this.#sums.set(currency, fresh)
    return fresh
  }
}
