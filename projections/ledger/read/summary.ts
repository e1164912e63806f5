import type { Quantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import type { LedgerFilter } from './filter.ts'
import { usage } from './usage.ts'

export type LedgerGrouping = 'sku' | 'day' | 'model' | 'tenant'

/** Settled lines of one key and currency; currencies are never added. */
export interface LedgerGroup {
  readonly key: string
  readonly currency: string
  /** What the quantity counts; undefined where the lines count different things. */
  readonly unit: string | undefined
  readonly quantity: Quantity | undefined
  /** Exact decimal. */
  readonly amount: string
  readonly lines: number
}

/** Sums of settled lines per key and currency, keys in order; a day is of UTC. */
export async function summarise(
  db: Queryable,
  filter: LedgerFilter,
  groupBy: LedgerGrouping,
): Promise<readonly LedgerGroup[]> {
  const groups = await usage(db, { filter, groupBy: [groupBy] })
  return groups.map(({ keys, ...group }) => ({ key: keys[groupBy] ?? '', ...group }))
}
