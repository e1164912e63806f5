import { type Currency, lineAmount, parseAmount, type Quantity } from '../../kernel/money.ts'
import type { PriceBook } from './price-book.ts'

/** The facts needed to price settled lines again: equal lines are one group. */
interface RatedLines {
  readonly sku: string
  readonly currency: Currency
  readonly unit: string
  /** The quantity of each of them. */
  readonly quantity: Quantity
  readonly lines: number
  /** Decimal string: the settled price of all of them. */
  readonly amount: string
}

/** Lines of one SKU in one currency, as they were settled and as they would be; amounts in pico. */
export interface Rerated {
  readonly sku: string
  readonly currency: Currency
  readonly unit: string
  lines: number
  quantity: bigint
  recordedPico: bigint
  /** Undefined if the other book lacks a price for one of them. */
  otherPico: bigint | undefined
}

/**
 * Adds up lines at other prices, by SKU, currency and unit. A SKU that the other prices lack, or
 * count in another unit, is listed separately: its requests would have been refused.
 */
export class Rerating {
  readonly #sums = new Map<string, Rerated>()

  /**
   * Each line is rated, and rounded, by itself.
   * @param book the other prices as they would have been for these lines' tenant
   */
  add(rated: RatedLines, book: PriceBook | undefined): void {
    const { sku, currency, unit, quantity, lines, amount } = rated
    const key = `${currency}\n${sku}\n${unit}`
    const sum = this.#sums.get(key) ?? emptySum(sku, currency, unit)
    this.#sums.set(key, sum)
    sum.lines += lines
    sum.quantity += BigInt(lines) * BigInt(quantity)
    sum.recordedPico += parseAmount(amount)
    const entry = book?.lookup(sku, currency)
    sum.otherPico =
      entry === undefined || entry.unit !== unit || sum.otherPico === undefined
        ? undefined
        : sum.otherPico + BigInt(lines) * lineAmount(quantity, entry.price, entry.per)
  }

  /** Sorted by currency, then SKU. */
  sums(): readonly Readonly<Rerated>[] {
    return [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
  }
}

function emptySum(sku: string, currency: Currency, unit: string): Rerated {
  return { sku, currency, unit, lines: 0, quantity: 0n, recordedPico: 0n, otherPico: 0n }
}
