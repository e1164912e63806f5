import { Type } from 'typebox'
import type { BudgetStatus } from '../../../app/spending/budgets/status.ts'
import type { BookedBalance, CurrencyBalance } from '../../../app/finance/balances.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { currencies, formatAmount, formatFullAmount } from '../../../kernel/money.ts'

/** A balance as the surfaces show it. */

const Full = (description: string) => Type.String({ description, examples: ['9994.990600000000'] })

export const BalanceAccountSchema = Type.Object(
  {
    currency: Type.String({ description: 'Currencies are never added up.' }),
    granted: Full('Credit that was given.'),
    adjusted: Full('Sum of adjustments; negative where they took credit back.'),
    settled: Full('Sum of settled amounts.'),
    held: Full(
      'Reserved by running calls and tasks, and settlements the ledger does not have yet.',
    ),
    credit_limit: Full('How far below zero the balance may go.'),
    available: Full(
      'granted + adjusted + credit_limit - settled - held: the most that a new request can reserve.',
    ),
    balance: Full('granted + adjusted - settled.'),
    reserved: Full('The same as held.'),
    used_total: Full('The same as settled.'),
    adjusted_usage: Full('The part of adjusted that corrects usage: refunds.'),
    adjusted_grants: Full('The part of adjusted that corrects grants.'),
  },
  { named: 'CurrencyBalance' },
)

export const balanceAccountColumns = [
  'currency',
  'granted',
  'adjusted',
  'settled',
  'held',
  'credit_limit',
  'available',
  'balance',
  'reserved',
  'used_total',
  'adjusted_usage',
  'adjusted_grants',
] as const

/** One currency of a balance as it is now. */
export function toBalanceAccount(of: CurrencyBalance) {
  const held = formatFullAmount(of.heldPico)
  return {
    ...bookedMembers(of),
    held,
    reserved: held,
    credit_limit: formatFullAmount(of.creditLimitPico),
    available: formatFullAmount(of.availablePico),
  }
}

/** One currency of a balance of the past, of which only what was booked is known. */
export function toPastAccount(of: BookedBalance) {
  const unknown = { held: null, reserved: null, credit_limit: null, available: null }
  return { ...bookedMembers(of), ...unknown }
}

function bookedMembers(of: BookedBalance) {
  const { currency, grantedPico, adjustedPico, refundedPico, settledPico } = of
  const settled = formatFullAmount(settledPico)
  return {
    currency,
    granted: formatFullAmount(grantedPico),
    adjusted: formatFullAmount(adjustedPico),
    settled,
    balance: formatFullAmount(grantedPico + adjustedPico - settledPico),
    used_total: settled,
    adjusted_usage: formatFullAmount(refundedPico),
    adjusted_grants: formatFullAmount(adjustedPico - refundedPico),
  }
}

/** The shape of budgets for administrators and for the bounded token. */

/** Members that identify a budget. */
export const budgetFacts = {
  subject: Type.Enum(['tenant', 'user', 'token'], {
    description: 'Whose spending the budget bounds.',
  }),
  user_id: Type.Optional(Type.String({ description: 'Id of the user, with subject `user`.' })),
  token_id: Type.Optional(Type.String({ description: 'Id of the token, with subject `token`.' })),
  currency: Type.Enum([...currencies]),
  period: Type.Enum(['day', 'month']),
}

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const BudgetSchema = Type.Object(
  {
    ...budgetFacts,
    hard: orNull('Requests that could exceed it are refused; null: no such bound.'),
    soft: orNull('Reaching it is logged and counted; null: no such threshold.'),
    spent: Type.String({
      description: 'Settled in the current period, plus the holds of running tasks.',
    }),
    left: orNull('hard - spent; negative where settlements exceeded their holds.'),
    soft_reached: Type.Boolean(),
    begins_at: Type.String({
      format: 'date-time',
      description: 'RFC 3339: start of the current day or month.',
    }),
    ends_at: Type.String({ description: 'RFC 3339: end of the current day or month, exclusive.' }),
  },
  { named: 'BudgetStatus' },
)

/** Shows a budget to administrators and to the bounded token. */
export function toBudget(budget: BudgetStatus) {
  const { subject, currency, period, hard, soft, spentPico, leftPico, softReached, current } =
    budget
  return {
    subject: subject.kind,
    ...(subject.kind === 'user' ? { user_id: subject.userId } : {}),
    ...(subject.kind === 'token' ? { token_id: subject.tokenId } : {}),
    currency,
    period,
    hard: hard ?? null,
    soft: soft ?? null,
    spent: formatAmount(spentPico),
    left: leftPico === undefined ? null : formatAmount(leftPico),
    soft_reached: softReached,
    begins_at: toTimestamp(current.fromMs),
    ends_at: toTimestamp(current.toMs),
  }
}
