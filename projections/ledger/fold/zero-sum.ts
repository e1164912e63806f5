import { invariant } from '../../../src/kernel/assert.ts'
import type { LedgerChange } from './change.ts'

/** Debits are credits: per currency, what the settlements say is what the entries move. */
export function checkZeroSum(change: LedgerChange): void {
  const sums = new Map<string, bigint>()
  const add = (key: string, pico: bigint): void => {
    sums.set(key, (sums.get(key) ?? 0n) + pico)
  }
  for (const { currency, kind, debit, amountPico } of change.entries) {
    if (kind === 'settled') add(`${currency} settled`, amountPico)
    if (debit === 'held') add(`${currency} held`, amountPico)
    if (debit === 'available') add(`${currency} held`, -amountPico)
  }
  for (const { currency, settled, held } of change.balances.values()) {
    add(`${currency} settled`, -settled)
    add(`${currency} held`, -held)
  }
  for (const [key, sum] of sums) invariant(sum === 0n, `${key} does not sum to zero`)
}
