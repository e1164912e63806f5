import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../app/access/principal.ts'
import type { ManagedTokens } from '../../app/accounts/managed-tokens.ts'
import type { ManagedSettings } from '../../app/accounts/settings.ts'
import type { ManagedPriceBooks } from '../../app/finance/prices/managed-price-books.ts'
import { type CountQuery, requireToken, useQueryCount } from '../kit/authenticate.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { strictBodies, useJsonBody } from '../kit/json-body.ts'
import { useNoStore } from '../kit/answer-headers.ts'
import { balanceAlertSurface } from './balance-alerts.ts'
import { budgetSurface } from './budgets.ts'
import { limitSurface } from './limits.ts'
import { type CreditDeps, creditRoutes } from './credit.ts'
import { adminEnvelope } from './envelope.ts'
import { priceBookRoutes } from './prices/books.ts'
import { whatIfRoute } from './prices/what-if.ts'
import { accountPriceRoutes } from './prices/tenants.ts'
import { settingRoutes } from './settings.ts'
import { tenantRoutes, userRoutes } from './tenants.ts'
import { adminTokenRoutes } from './tokens.ts'

interface AdminDeps extends CreditDeps {
  readonly managedSettings: ManagedSettings
  readonly managedPriceBooks: ManagedPriceBooks
  readonly authenticate: Authenticate
  readonly managedTokens: ManagedTokens
  readonly countQuery?: CountQuery
}

/** Bodies about an account hold a few names and figures. */
const BODY_LIMIT_BYTES = 64 * 1024

/**
 * Tenants, users, credit, prices and tokens for holders of an admin token, to be registered under
 * `/api/admin`.
 */
export function adminPlugin(deps: AdminDeps) {
  const { managedSettings: settings } = deps
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, adminEnvelope)
    useNoStore(instance)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, deps.authenticate, 'admin')
    useQueryCount(instance, deps.countQuery)
    instance.setValidatorCompiler(strictBodies)
    tenantRoutes(instance, deps.managedTenants)
    userRoutes(instance, deps.managedTenants)
    creditRoutes(instance, deps)
    settingRoutes(instance, settings, budgetSurface)
    settingRoutes(instance, settings, limitSurface)
    settingRoutes(instance, settings, balanceAlertSurface)
    priceBookRoutes(instance, deps.managedPriceBooks)
    whatIfRoute(instance, deps.managedPriceBooks)
    accountPriceRoutes(instance, settings)
    adminTokenRoutes(instance, deps.managedTokens)
  }
}
