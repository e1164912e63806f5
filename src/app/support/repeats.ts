import type { Queryable } from '../../../projections/engine/queryable.ts'
import { refundsOfSources } from '../../../projections/ledger/query.ts'
import { type Repeat, type RepeatsFilter, repeatsIn } from '../../../projections/timeline/query.ts'
import { sameBodyReason } from './related.ts'

/** Requests that were charged twice: the same body again, of the same token, within ten minutes. */

/** A request that was charged again, with what was given back of it and of the one before it. */
export interface ChargedTwice extends Repeat {
  readonly why: 'retry' | 'same_body'
  /** Exact decimals. */
  readonly refunded: string
  readonly earlierRefunded: string
}

/** A page of them, the newest first; it may be short, and the list ends where `next` is undefined. */
export async function chargedTwice(
  db: Queryable,
  filter: RepeatsFilter,
  page: Parameters<typeof repeatsIn>[2],
): Promise<{ readonly items: readonly ChargedTwice[]; readonly next: string | undefined }> {
  const { items, next } = await repeatsIn(db, filter, page)
  if (items.length === 0) return { items: [], next }
  const ids = items.flatMap(({ sourceId, earlier }) => [sourceId, earlier.sourceId])
  const refunds = await refundsOfSources(db, [...new Set(ids)])
  const refundOf = (id: string): string => refunds.get(id) ?? '0'
  const found = items.map((item) => ({
    ...item,
    why: sameBodyReason(item, item.earlier),
    refunded: refundOf(item.sourceId),
    earlierRefunded: refundOf(item.earlier.sourceId),
  }))
  return { items: found, next }
}
