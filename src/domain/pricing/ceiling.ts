import { parseAmount } from '../../kernel/money.ts'
import type { Quote, Settlement } from './settlement.ts'

/**
 * A result that costs more than this multiple of its hold is not settled: a hold covers the largest
 * result that the request allows, and assumptions, such as the length of a reference, are not
 * further off.
 */
const HOLDS_OF_A_RESULT = 4n

/** Whether a settlement is more than its request can cost: then the reported usage is not believed. */
export function isAboveCeiling({ hold }: Pick<Quote, 'hold'>, { amount }: Settlement): boolean {
  return parseAmount(amount) > HOLDS_OF_A_RESULT * parseAmount(hold)
}
