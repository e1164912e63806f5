import { Type } from 'typebox'
import type { StandingBalance } from '../../app/finance/balances.ts'
import { formatFullAmount } from '../../kernel/money.ts'

/** A balance as both surfaces show it that have one. */

const Full = (description: string) => Type.String({ description, examples: ['9994.990600000000'] })

export const BalanceAccountSchema = Type.Object({
  currency: Type.String({ description: 'Currencies are never added up.' }),
  granted: Full('Credit that was given.'),
  adjusted: Full('What corrections gave; negative where they took.'),
  settled: Full('What results cost.'),
  held: Full('Promised to what runs, and what is settled and not in the ledger yet.'),
  credit_limit: Full('How far below zero the balance may go.'),
  available: Full('granted + adjusted + credit_limit - settled - held: what a request may hold.'),
  balance: Full('granted + adjusted - settled.'),
  reserved: Full('The same as held.'),
  used_total: Full('The same as settled.'),
})

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
] as const

/** One currency of a balance. */
export function toBalanceAccount(of: StandingBalance) {
  const { grantedPico, adjustedPico, settledPico, heldPico } = of
  const [settled, held] = [formatFullAmount(settledPico), formatFullAmount(heldPico)]
  return {
    currency: of.currency,
    granted: formatFullAmount(grantedPico),
    adjusted: formatFullAmount(adjustedPico),
    settled,
    held,
    credit_limit: formatFullAmount(of.creditLimitPico),
    available: formatFullAmount(of.availablePico),
    balance: formatFullAmount(grantedPico + adjustedPico - settledPico),
    reserved: held,
    used_total: settled,
  }
}
