import { listAccounts } from '../../../../projections/ledger/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { monthAfter } from '../../../domain/statement/periods.ts'
import { monthIn, zoneOf } from './closing-account.ts'

/** How long ago a month ended: in the last month, in the one before, or earlier. */
export const openMonthAges = ['1', '2', '3+'] as const
type Age = (typeof openMonthAges)[number]

/** Months since the year 0. */
function countOf(month: string): number {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return year * 12 + number
}

/**
 * Counts the months that are over and not closed, of accounts of tenants with billing details: others get no
 * statements. It reads one row an account, whatever its ledger holds.
 */
export async function countOpenMonths(
  db: Queryable,
  nowMs: number,
): Promise<Readonly<Record<Age, number>>> {
  const counts = { '1': 0, '2': 0, '3+': 0 }
  const everyone = { tenantIds: undefined, currency: undefined }
  for (const { billing, lastMonth, openedAtMs } of await listAccounts(db, everyone)) {
    if (billing === null || billing.revision === 0) continue
    const zone = zoneOf(billing)
    const next = lastMonth === null ? monthIn(zone, openedAtMs) : monthAfter(lastMonth)
    const open = countOf(monthIn(zone, nowMs)) - countOf(next)
    if (open >= 1) counts['1'] += 1
    if (open >= 2) counts['2'] += 1
    counts['3+'] += Math.max(0, open - 2)
  }
  return counts
}
