import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'

/** The one way an amount is written. @throws DomainError `amount_invalid` */
export function canonicalAmount(amount: string): string {
  try {
    return formatAmount(parseAmount(amount))
  } catch {
    throw new DomainError(
      'amount_invalid',
      'an amount must be a decimal of at most 26 digits and 12 decimals',
      { amount },
    )
  }
}
