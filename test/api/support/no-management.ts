import type { ManagedSettings } from '../../../src/app/accounts/settings.ts'
import type { ManagedPriceBooks } from '../../../src/app/finance/prices/managed-price-books.ts'
import type { ManagedTenants } from '../../../src/app/accounts/managed-tenants.ts'
import type { ManagedTokens } from '../../../src/app/accounts/managed-tokens.ts'
import { DomainError } from '../../../src/kernel/errors.ts'

const noTenant = (): Promise<never> =>
  Promise.reject(new DomainError('tenant_not_found', 'the tenant does not exist', {}))
const noToken = (): Promise<never> =>
  Promise.reject(new DomainError('token_not_found', 'the token does not exist', {}))

const noBook = (): Promise<never> =>
  Promise.reject(new DomainError('price_book_not_found', 'there are none', {}))

/** Of a gateway that has neither tenants nor tokens. */
export const noTenants: ManagedTenants = {
  list: () => Promise.resolve([]),
  find: noTenant,
  open: noTenant,
  users: noTenant,
  addUser: noTenant,
  grant: noTenant,
  setLimit: noTenant,
}

export const noTokens: ManagedTokens = {
  list: () => Promise.resolve([]),
  find: noToken,
  issue: noTenant,
  change: noToken,
  rotate: noToken,
  disable: noToken,
}

export const noPriceBooks: ManagedPriceBooks = {
  list: () => Promise.resolve([]),
  find: noBook,
  difference: noBook,
  whatIf: noBook,
  publish: noBook,
}

export const noSettings: ManagedSettings = { show: noTenant, set: noTenant }
