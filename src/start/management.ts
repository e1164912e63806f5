import { createManagement } from '../app/accounts/manage.ts'
import type { ManagementDeps } from '../app/accounts/management.ts'
import { createManagedBalanceAlerts } from '../app/accounts/alerts/manage.ts'
import { createManagedBudgets } from '../app/spending/budgets/manage.ts'
import type { Channel } from '../app/ports/provider.ts'
import { servedModels } from '../app/finance/prices/concern.ts'
import { createPriceManagement } from '../app/finance/prices/manage.ts'
import { createManagedLimits } from '../app/spending/throttle/manage.ts'
import type { Config } from '../config.ts'
import { type PublicFetchDeps, resolveByDns } from '../families/kit/http/public-fetch.ts'

/** What accounts, tokens and prices are managed by over HTTP. */
export function management(
  deps: ManagementDeps & {
    readonly config: Pick<Config, 'rateLimits' | 'queries' | 'webhookOrigins'>
    readonly channels: readonly Channel[]
    readonly markerSecret: string
    readonly hosts?: PublicFetchDeps
  },
) {
  const { rateLimits: defaultLimits, queries, webhookOrigins: trustedOrigins } = deps.config
  const { markerSecret, hosts: { resolveHost } = { resolveHost: resolveByDns } } = deps
  const webhooks = { markerSecret, resolveHost, trustedOrigins }
  const served = servedModels(deps.channels)
  const ofAccounts = createManagement({ ...deps, defaultLimits, served })
  const tenants = ofAccounts.managedTenants
  return {
    ...ofAccounts,
    managedBudgets: createManagedBudgets(deps, tenants),
    managedLimits: createManagedLimits(deps, tenants),
    managedBalanceAlerts: createManagedBalanceAlerts(deps, webhooks, tenants),
    ...createPriceManagement({ ...deps, tenants, served, queryTimeoutMs: queries.timeoutMs }),
  }
}
