import { formatAmount, lineAmount, parseAmount, type Quantity } from '../../kernel/money.ts'
import type { Measurement, Quote, RatedSku, Settlement, SettlementLine } from './settlement.ts'

/**
 * One ledger line: quantity × price ÷ per, exact. A zero quantity writes no line (the usage keeps
 * it).
 *
 * @throws RangeError when the quantity is not a non-negative safe integer
 */
export function settlementLine(
  rated: RatedSku,
  quantity: Quantity,
  measurement: Measurement,
): SettlementLine | undefined {
  const amount = formatAmount(lineAmount(quantity, rated.price, rated.per))
  if (quantity === 0) return undefined
  const { sku, rule, unit, price, per, accountPrice } = rated
  const line = { sku, rule, quantity, unit, price, per, amount, measurement }
  return accountPrice === undefined ? line : { ...line, accountPrice }
}

/** The money of one result under a frozen quote: its amount is the exact sum of its lines. */
export function settlement(
  frozen: Pick<Quote, 'priceBookVersion' | 'currency'>,
  lines: readonly (SettlementLine | undefined)[],
): Settlement {
  const written = lines.filter((line) => line !== undefined)
  const amountPico = written.reduce((sum, line) => sum + parseAmount(line.amount), 0n)
  return {
    priceBookVersion: frozen.priceBookVersion,
    currency: frozen.currency,
    amount: formatAmount(amountPico),
    lines: written,
  }
}
