import type { ServedModel } from '../../../domain/catalog/catalog.ts'
import {
  listPriceBooks,
  type ListedPriceBook,
  type PublishedPriceBook,
  type SkuPrice,
  skuPrices,
} from '../../../../projections/prices/query.ts'
import {
  type PriceBookDifference,
  priceBookDifference,
} from '../../../domain/pricing/price-book-difference.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import { type Actor, type ManagementDeps, shown } from '../../accounts/management.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import { type AdminScope, requireOperator } from '../../accounts/admin-scope.ts'
import { findPriceBook } from './price-book.ts'
import { WhatIf, type WhatIfInput } from './what-if.ts'
import { publishIfConfirmed, readBook, type ConfirmedPublication } from './publish.ts'

/** Management of price books by operators' tokens; for others every use is `scope_denied`. */
export interface ManagedPriceBooks {
  /** The latest start first. */
  readonly list: (
    adminScope: AdminScope,
    page: {
      /** Version of the last one on the page before. */
      readonly after: string | undefined
      readonly limit: number
    },
  ) => Promise<readonly ListedPriceBook[]>
  /** @throws DomainError `price_book_not_found` */
  readonly find: (adminScope: AdminScope, version: string) => Promise<PublishedPriceBook>
  /** The differences of `version` from `against`. @throws DomainError `price_book_not_found` */
  readonly difference: (
    adminScope: AdminScope,
    books: { readonly version: string; readonly against: string },
  ) => Promise<PriceBookDifference>
  /** The list prices of a SKU, oldest first in each currency; none for one that no book has. */
  readonly skuPrices: (
    adminScope: AdminScope,
    of: {
      readonly sku: string
      /** Unix milliseconds; undefined: now. */
      readonly atMs: number | undefined
    },
  ) => Promise<{ readonly prices: readonly SkuPrice[]; readonly atMs: number }>
  /**
   * Calculates what settled usage would have cost under a book; the caller must read the result
   * within the time of a query.
   *
   * @throws DomainError `price_book_not_found`, `tenant_not_found`
   */
  readonly whatIf: (
    adminScope: AdminScope,
    input: Readonly<Pick<WhatIfInput, 'fromMs' | 'tenantId'>> & {
      readonly version: string
      /** Settled before; unix milliseconds, now by default. */
      readonly toMs: number | undefined
    },
  ) => Promise<WhatIf>
  /** @throws DomainError `price_book_invalid`, and those of the price-book decider */
  readonly publish: (
    adminScope: AdminScope,
    by: Actor,
    input: {
      /** In the format of a price book file. */
      readonly document: unknown
      /** Whether to keep its demonstration prices, which only the sandbox uses. */
      readonly demonstrations: boolean
      readonly isConfirmed: boolean
    },
  ) => Promise<ConfirmedPublication>
}

/** @throws the codes of the log and of the database; `read_model_behind` */
export function createManagedPriceBooks(
  deps: ManagementDeps & {
    readonly served: readonly ServedModel[]
    readonly queryTimeoutMs: number
    readonly tenants: Pick<ManagedTenants, 'find'>
  },
): ManagedPriceBooks {
  const { log, db, clock, served, queryTimeoutMs } = deps
  const readable = async (adminScope: AdminScope): Promise<void> => {
    requireOperator(adminScope)
    await requireCaughtUp(deps, 'prices')
  }
  return {
    list: async (adminScope, page) => {
      await readable(adminScope)
      return listPriceBooks(db, { atMs: clock.nowMs(), ...page })
    },
    find: async (adminScope, version) => {
      await readable(adminScope)
      return findPriceBook(db, version)
    },
    difference: async (adminScope, { version, against }) => {
      await readable(adminScope)
      const after = await findPriceBook(db, version)
      const before = await findPriceBook(db, against, 'against')
      return priceBookDifference(before.entries, after.entries)
    },
    skuPrices: async (adminScope, { sku, atMs = clock.nowMs() }) => {
      await readable(adminScope)
      return { prices: await skuPrices(db, sku), atMs }
    },
    whatIf: async (adminScope, { version, toMs = clock.nowMs(), ...range }) => {
      await readable(adminScope)
      if (range.tenantId !== undefined) await deps.tenants.find(adminScope, range.tenantId)
      await requireCaughtUp(deps, 'ledger')
      const book = await findPriceBook(db, version)
      const signal = AbortSignal.timeout(queryTimeoutMs)
      return new WhatIf({ pool: db, log }, { book, toMs, ...range, signal })
    },
    publish: async (adminScope, by, { document, demonstrations, isConfirmed }) => {
      requireOperator(adminScope)
      const outcome = await publishIfConfirmed(deps, {
        book: readBook(deps.catalog, document, demonstrations),
        served,
        isConfirmed,
        correlationId: by.requestId,
        actor: by.tokenId,
      })
      await shown(deps, 'prices', outcome.position)
      return outcome
    },
  }
}
