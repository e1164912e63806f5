import { formatAmount, parseAmount, type Currency } from '../../kernel/money.ts'
import type { Settlement, SettlementLine } from './settlement.ts'

/** What one SKU came to; `amount` is a decimal string. */
export interface CostPart {
  readonly sku: string
  readonly amount: string
}

/** What of a settlement the caller who paid it is told beside its result. */
export interface Cost {
  /** Decimal string; `0` for what cost nothing. */
  readonly amount: string
  readonly currency: Currency
  readonly priceBookVersion: string
  /** One part a SKU, in the order of the lines; together they are the amount. */
  readonly split: readonly CostPart[]
}

/** SKUs that are told by name: a header has to hold them. No settlement has as many today. */
export const MAX_COST_PARTS = 16
/** What the amount of all further ones is told as. */
export const OTHER_PARTS = 'other'

/** The cost of what was settled so. */
export function costOf(
  settled: Pick<Settlement, 'amount' | 'currency' | 'priceBookVersion'> & {
    readonly lines: readonly Pick<SettlementLine, 'sku' | 'amount'>[]
  },
): Cost {
  const { amount, currency, priceBookVersion, lines } = settled
  const bySku = new Map<string, bigint>()
  for (const line of lines) {
    const isNamed = bySku.has(line.sku) || bySku.size < MAX_COST_PARTS
    const sku = isNamed ? line.sku : OTHER_PARTS
    bySku.set(sku, (bySku.get(sku) ?? 0n) + parseAmount(line.amount))
  }
  const split = [...bySku].map(([sku, pico]) => ({ sku, amount: formatAmount(pico) }))
  return { amount, currency, priceBookVersion, split }
}
