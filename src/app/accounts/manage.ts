import { createManagedTenants, type ManagedTenants } from './managed-tenants.ts'
import { createManagedTokens, type ManagedTokens } from './managed-tokens.ts'

/** What accounts and tokens are managed by over HTTP. */
export function createManagement(deps: Parameters<typeof createManagedTokens>[0]): {
  readonly managedTokens: ManagedTokens
  readonly managedTenants: ManagedTenants
} {
  return { managedTokens: createManagedTokens(deps), managedTenants: createManagedTenants(deps) }
}
