import { parseAmount } from '../../kernel/money.ts'
import type { Quote, Settlement } from './settlement.ts'

/**
 * Above this many times its hold no result is settled: a hold counts the largest result that the
 * request allows, and what it has to assume, such as the length of a reference, is not further off.
 */
const HOLDS_OF_A_RESULT = 4n

/** Whether a settlement is more than its request can cost: then the reported usage is not believed. */
export function isAboveCeiling({ hold }: Pick<Quote, 'hold'>, { amount }: Settlement): boolean {
  return parseAmount(amount) > HOLDS_OF_A_RESULT * parseAmount(hold)
}
