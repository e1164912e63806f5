import type { FastifyInstance } from 'fastify'
import type { ManagedTenants } from '../app/accounts/managed-tenants.ts'
import type { ManagedTokens } from '../app/accounts/managed-tokens.ts'
import type { ManagedBudgets } from '../app/spending/budgets/manage.ts'
import type { ManagedLimits } from '../app/spending/throttle/manage.ts'
import type { ManagedBalanceAlerts } from '../app/accounts/alerts/manage.ts'
import type { PriceManagement } from '../app/finance/prices/manage.ts'
import { adminPlugin } from './admin/plugin.ts'
import { useEnvelope } from './kit/envelope.ts'
import { queryEnvelope } from './query/envelope.ts'
import { type QueryDeps, queryPlugin } from './query/plugin.ts'
import { type UserDeps, userPlugin } from './user/plugin.ts'

/** What the routes of `/api` need. */
export interface AccountsDeps extends QueryDeps, PriceManagement, Pick<UserDeps, 'uploads'> {
  readonly managedBudgets: ManagedBudgets
  readonly managedLimits: ManagedLimits
  readonly managedBalanceAlerts: ManagedBalanceAlerts
  readonly managedTokens: ManagedTokens
  readonly managedTenants: ManagedTenants
}

/** Accounts and money, for finance, support and consoles. */
export async function registerAccounts(app: FastifyInstance, deps: AccountsDeps): Promise<void> {
  const account = { ...deps, readBalances: deps.accounts.balances }
  await app.register(
    async (api) => {
      useEnvelope(api, queryEnvelope)
      await api.register(queryPlugin(deps), { prefix: '/query/v1' })
      await api.register(userPlugin(account), { prefix: '/user' })
      await api.register(adminPlugin(account), { prefix: '/admin' })
    },
    { prefix: '/api' },
  )
}
