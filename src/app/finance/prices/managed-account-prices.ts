import type { ServedModel } from '../../../domain/catalog/catalog.ts'
import { currentPriceBook, type PublishedPriceBook } from '../../../../projections/prices/query.ts'
import { accountPrices, accountPricesFromDocument } from '../../../domain/account/prices.ts'
import type { AccountPrices } from '../../../domain/pricing/account-prices.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import { type ByToken, depsOf, type ManagementDeps } from '../../accounts/management.ts'
import { requireCaughtUp } from '../../read-models/caught-up.ts'
import { type Reach, requireOperator } from '../../accounts/reach.ts'
import { readSettings } from '../../accounts/account-facts.ts'
import { setAccountPrices, unsoldAccountPrices } from './account-prices.ts'
import { type ComparedPrice, comparedPrices } from './compared-prices.ts'

/** A tenant's prices beside the list. */
export interface ShownAccountPrices {
  readonly tenantId: string
  readonly prices: AccountPrices
  /** In effect; undefined: none is. */
  readonly book: PublishedPriceBook | undefined
  readonly compared: readonly ComparedPrice[]
}

/**
 * Prices of tenants as they are managed by tokens: those of a tenant outside the reach read exactly like
 * those of none (P8), and only an operator changes any.
 */
export interface ManagedAccountPrices {
  /** With `all` every price of the list too. @throws DomainError `tenant_not_found` */
  readonly show: (
    reach: Reach,
    input: { readonly tenantId: string; readonly all: boolean },
  ) => Promise<ShownAccountPrices>
  /**
   * All of them; an empty document brings the list back.
   *
   * @throws DomainError `scope_denied`, `price_book_invalid`, those of the account decider
   */
  readonly set: (
    reach: Reach,
    by: ByToken,
    input: {
      readonly tenantId: string
      /** As in a file of account prices. */
      readonly document: unknown
      /** The revision that was looked at; undefined: nobody looked. */
      readonly basis?: number
    },
  ) => Promise<
    ShownAccountPrices & { readonly changed: boolean; readonly warnings: readonly string[] }
  >
}

/** @throws the codes of the log and of the database; `read_model_behind` */
export function createManagedAccountPrices(
  deps: ManagementDeps & { readonly served: readonly ServedModel[] },
  tenants: Pick<ManagedTenants, 'find'>,
): ManagedAccountPrices {
  const { log, db, clock } = deps
  const readList = async () => {
    await requireCaughtUp(deps, 'prices')
    return currentPriceBook(db, clock.nowMs())
  }
  return {
    show: async (reach, { tenantId, all }) => {
      await tenants.find(reach, tenantId)
      const { prices = accountPrices.none } = await readSettings(log, tenantId)
      const book = await readList()
      return { tenantId, prices, book, compared: comparedPrices(book, prices, all) }
    },
    set: async (reach, by, { tenantId, document, basis }) => {
      requireOperator(reach)
      const said = accountPricesFromDocument(document)
      const looked = basis === undefined ? {} : { basis }
      const input = { tenantId, ...said, ...looked }
      // Before anything is written: what cannot be read then must not fail what was done.
      const book = await readList()
      const { prices: before = accountPrices.none } = await readSettings(log, tenantId)
      const warnings = unsoldAccountPrices(deps.catalog, said, before, deps.served)
      const { changed, prices } = await setAccountPrices(depsOf(deps, by), input)
      return {
        changed,
        warnings,
        tenantId,
        prices,
        book,
        compared: comparedPrices(book, prices, false),
      }
    },
  }
}
