import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, isBookable, MAX_AMOUNT_DIGITS, parseAmount } from '../../kernel/money.ts'

/** `01.5` is more often a slip than one and a half. */
const LEADING_ZERO = /^-?0\d/

/**
 * The one way an amount is written. The bound keeps every sum of amounts within what read models
 * can hold.
 *
 * @throws DomainError `amount_invalid`
 */
export function canonicalAmount(amount: string): string {
  const amountPico = amountOf(amount)
  if (amountPico !== undefined && isBookable(amountPico)) return formatAmount(amountPico)
  throw new DomainError(
    'amount_invalid',
    `an amount must be a decimal of at most ${MAX_AMOUNT_DIGITS} digits before the point, without leading zeros, and 12 after it`,
    { amount },
  )
}

function amountOf(amount: string): bigint | undefined {
  try {
    return LEADING_ZERO.test(amount) ? undefined : parseAmount(amount)
  } catch {
    return undefined
  }
}
