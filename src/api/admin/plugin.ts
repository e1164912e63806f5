import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../app/access/principal.ts'
import type { ManagedTokens } from '../../app/accounts/managed-tokens.ts'
import type { ManagedSettings } from '../../app/accounts/settings.ts'
import type { ManagedPriceBooks } from '../../app/finance/prices/managed-price-books.ts'
import { type CountQuery, requireToken, useQueryBounds } from '../kit/authenticate.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { strictBodies, useJsonBody } from '../kit/json-body.ts'
import { useNoStore } from '../kit/answer-headers.ts'
import { balanceAlertRoutes } from './balance-alerts.ts'
import { budgetRoutes } from './budgets.ts'
import { limitRoutes } from './limits.ts'
import { type CreditDeps, creditRoutes } from './credit.ts'
import { adminEnvelope } from './envelope.ts'
import { priceBookRoutes } from './prices/books.ts'
import { whatIfRoute } from './prices/what-if.ts'
import { accountPriceRoutes } from './prices/tenants.ts'
import { tenantRoutes, userRoutes } from './tenants.ts'
import { adminTokenRoutes } from './tokens.ts'

interface AdminDeps extends CreditDeps {
  readonly managedSettings: ManagedSettings
  readonly managedPriceBooks: ManagedPriceBooks
  readonly authenticate: Authenticate
  readonly managedTokens: ManagedTokens
  readonly countQuery?: CountQuery
}

/** In the order of the documentation. */
const routes: readonly ((instance: FastifyInstance, deps: AdminDeps) => void)[] = [
  tenantRoutes,
  userRoutes,
  creditRoutes,
  budgetRoutes,
  limitRoutes,
  balanceAlertRoutes,
  priceBookRoutes,
  whatIfRoute,
  accountPriceRoutes,
  adminTokenRoutes,
]

/** Bodies about an account hold a few names and figures. */
const BODY_LIMIT_BYTES = 64 * 1024

/**
 * Tenants, users, credit, prices and tokens for holders of an admin token, to be registered under
 * `/api/admin`.
 */
export function adminPlugin(deps: AdminDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, adminEnvelope)
    useNoStore(instance)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, deps, 'admin')
    useQueryBounds(instance, deps.countQuery)
    instance.setValidatorCompiler(strictBodies)
    for (const register of routes) register(instance, deps)
  }
}
