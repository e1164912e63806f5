import type { ServedModel } from '../../../domain/catalog/catalog.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import type { ManagementDeps } from '../../accounts/management.ts'
import { createManagedAccountPrices, type ManagedAccountPrices } from './managed-account-prices.ts'
import { createManagedPriceBooks, type ManagedPriceBooks } from './managed-price-books.ts'

/** What prices are managed by over HTTP. */
export interface PriceManagement {
  readonly managedPriceBooks: ManagedPriceBooks
  readonly managedAccountPrices: ManagedAccountPrices
}

export function createPriceManagement(
  deps: ManagementDeps & {
    readonly served: readonly ServedModel[]
    /** What one query may take. */
    readonly queryTimeoutMs: number
    readonly tenants: Pick<ManagedTenants, 'find'>
  },
): PriceManagement {
  return {
    managedPriceBooks: createManagedPriceBooks(deps),
    managedAccountPrices: createManagedAccountPrices(deps, deps.tenants),
  }
}
