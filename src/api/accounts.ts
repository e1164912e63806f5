import type { FastifyInstance } from 'fastify'
import type { ManagedTenants } from '../app/accounts/managed-tenants.ts'
import type { ManagedTokens } from '../app/accounts/managed-tokens.ts'
import type { ManagedSettings } from '../app/accounts/settings.ts'
import type { ManagedPriceBooks } from '../app/finance/prices/managed-price-books.ts'
import { adminPlugin } from './admin/plugin.ts'
import { useEnvelope } from './kit/envelope.ts'
import { useLongAnswers } from './kit/long-answers.ts'
import { queryEnvelope } from './query/envelope.ts'
import { type QueryDeps, queryPlugin } from './query/plugin.ts'
import { type UserDeps, userPlugin } from './user/plugin.ts'

/** What the routes of `/api` need. */
export interface AccountsDeps extends QueryDeps, Pick<UserDeps, 'uploads'> {
  readonly managedSettings: ManagedSettings
  readonly managedPriceBooks: ManagedPriceBooks
  readonly managedTokens: ManagedTokens
  readonly managedTenants: ManagedTenants
}

/** Accounts and money, for finance, support and consoles. */
export async function registerAccounts(app: FastifyInstance, deps: AccountsDeps): Promise<void> {
  const account = { ...deps, readBalances: deps.accounts.balances }
  await app.register(
    async (api) => {
      useEnvelope(api, queryEnvelope)
      useLongAnswers(api)
      await api.register(queryPlugin(deps), { prefix: '/query/v1' })
      await api.register(userPlugin(account), { prefix: '/user' })
      await api.register(adminPlugin(account), { prefix: '/admin' })
    },
    { prefix: '/api' },
  )
}
