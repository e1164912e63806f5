import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  type CodeTotal,
  type CreditRow,
  type LedgerFilter,
  listCredits,
  type OpenHolds,
  openHolds,
  sumCreditsByCode,
  taskHolds,
} from '../../../projections/ledger/query.ts'
import { proposersOf } from '../../../projections/proposals/query.ts'
import type { BookedBalance } from '../../app/finance/balances.ts'
import { type Account, type AccountRange, movementsOf } from '../../app/finance/movements.ts'
import { type BalanceMoment, pastBalancesOf } from '../../app/finance/past-balances.ts'
import { withQueryTimeout } from '../kit/routes/queries.ts'

/** The reads of what accounts hold, and of what moved them. */

/** Words for a caller whose query took too long. */
export const NARROW = 'narrow it by tenant_id and by a shorter time range'

/** Reads of the money of accounts: holds, credits and movements. */
export interface BookReads {
  /** Tasks of tenants that hold money, by tenant. */
  readonly openHolds: (
    tenantIds: readonly string[],
  ) => Promise<ReadonlyMap<string, readonly OpenHolds[]>>
  readonly pastBalances: (
    tenantIds: readonly string[],
    moment: BalanceMoment,
  ) => Promise<ReadonlyMap<string, readonly BookedBalance[]>>
  /** Grants and adjustments, newest first, behind one of them. */
  readonly credits: (
    filter: LedgerFilter & Pick<Parameters<typeof listCredits>[1], 'kinds'>,
    page: { readonly after: string | undefined; readonly limit: number },
  ) => Promise<{ readonly items: readonly CreditRow[]; readonly next: string | undefined }>
  /** Holds of running tasks, the oldest first. */
  readonly holds: (of: Parameters<typeof taskHolds>[1]) => ReturnType<typeof taskHolds>
  /** Sums of grants and adjustments by code and currency. */
  readonly creditSums: (filter: LedgerFilter) => Promise<readonly CodeTotal[]>
  /** Who proposed the approved ones among these, by the id of the proposal. */
  readonly proposers: (
    proposals: Parameters<typeof proposersOf>[1],
  ) => ReturnType<typeof proposersOf>
  /** An account by days; undefined where it has too many credits for one answer. */
  readonly movements: (range: AccountRange) => Promise<Account | undefined>
}

/** The reads over a database whose statements have a timeout. */
export function bookReads(db: Queryable): BookReads {
  return {
    openHolds: (tenantIds) => withQueryTimeout(NARROW, () => openHolds(db, tenantIds)),
    pastBalances: (tenantIds, moment) =>
      withQueryTimeout(NARROW, () => pastBalancesOf(db, tenantIds, moment)),
    credits: async (filter, { after, limit }) => {
      const from = after === undefined ? undefined : BigInt(after)
      const found = await withQueryTimeout(NARROW, () =>
        listCredits(db, filter, { order: 'newest', after: from, limit: limit + 1 }),
      )
      const items = found.slice(0, limit)
      return { items, next: found.length > limit ? items.at(-1)?.position : undefined }
    },
    holds: (of) => withQueryTimeout(NARROW, () => taskHolds(db, of)),
    creditSums: (filter) => withQueryTimeout(NARROW, () => sumCreditsByCode(db, filter)),
    proposers: (proposals) => proposersOf(db, proposals),
    movements: (range) => withQueryTimeout(NARROW, () => movementsOf(db, range)),
  }
}
