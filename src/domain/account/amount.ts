import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'

/** `01.5` is more often a slip than one and a half. */
const LEADING_ZERO = /^-?0\d/

/** The one way an amount is written. @throws DomainError `amount_invalid` */
export function canonicalAmount(amount: string): string {
  try {
    if (LEADING_ZERO.test(amount)) throw new RangeError('not how a decimal is written')
    return formatAmount(parseAmount(amount))
  } catch {
    throw new DomainError(
      'amount_invalid',
      'an amount must be a decimal of at most 26 digits, without zeros before them, and 12 decimals',
      { amount },
    )
  }
}
