import type { Budget } from '../../../domain/account/budgets.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { formatAmount } from '../../../kernel/money.ts'
import type { Period } from './spent.ts'

const whose = { tenant: 'the tenant', user: 'this user', token: 'this token' } as const

/**
 * A budget does not cover what a request holds: nothing was started. Details: currency, hold, available,
 * limitedBy, limit, resetsAt.
 */
export function budgetReached(
  { subject, currency, period: kind, hard = '0' }: Budget,
  { toMs }: Period,
  holdPico: bigint,
  leftPico: bigint,
): DomainError {
  const hold = formatAmount(holdPico)
  const available = formatAmount(leftPico)
  const resetsAt = toTimestamp(toMs)
  return new DomainError(
    'budget_reached',
    `the budget a ${kind} of ${whose[subject.kind]} is ${hard} ${currency}: ${available} ${currency} of it is left, ` +
      `the request holds ${hold} ${currency} until it is settled; the next ${kind} begins at ${resetsAt}`,
    { currency, hold, available, limitedBy: `${subject.kind}_${kind}`, limit: hard, resetsAt },
  )
}
