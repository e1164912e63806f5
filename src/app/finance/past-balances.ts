import type { Queryable } from '../../../projections/engine/queryable.ts'
import { sumCredits, usage } from '../../../projections/ledger/query.ts'
import { type Currency, currencies, parseAmount } from '../../kernel/money.ts'
import type { BookedBalance } from './balances.ts'

/** The moment of a balance: what was booked before a time, as known at a position of the log. */
export interface BalanceMoment {
  readonly currency: Currency | undefined
  /** Unix milliseconds, exclusive; undefined: all times. */
  readonly toMs: number | undefined
  readonly asOf: bigint
}

/**
 * Reads what tenants had been given and charged at a moment, by tenant; one without any money
 * movement is absent. Lines are summed as in every report, so the two agree.
 */
export async function pastBalancesOf(
  db: Queryable,
  tenantIds: readonly string[],
  { currency, toMs, asOf }: BalanceMoment,
): Promise<ReadonlyMap<string, readonly BookedBalance[]>> {
  const filter = { tenantIds, currency, toMs, asOf }
  const charged = await usage(db, { filter, groupBy: ['tenant'] })
  const given = await sumCredits(db, filter)
  const balances = tenantIds.map((tenantId) => {
    const accounts = currencies.toSorted().flatMap((each) => {
      const group = charged.find(
        ({ keys, currency: of }) => keys.tenant === tenantId && of === each,
      )
      const total = given.find((of) => of.tenantId === tenantId && of.currency === each)
      if (group === undefined && total === undefined) return []
      return {
        currency: each,
        grantedPico: parseAmount(total?.granted ?? '0'),
        adjustedPico: parseAmount(total?.adjusted ?? '0'),
        refundedPico: parseAmount(total?.refunded ?? '0'),
        settledPico: parseAmount(group?.amount ?? '0'),
      }
    })
    return [tenantId, accounts] as const
  })
  return new Map(balances.filter(([, accounts]) => accounts.length > 0))
}
