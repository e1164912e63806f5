import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../app/access/principal.ts'
import type { ManagedTokens } from '../../app/accounts/managed-tokens.ts'
import type { ManagedBudgets } from '../../app/spending/budgets/manage.ts'
import type { PriceManagement } from '../../app/finance/prices/manage.ts'
import { requireToken, type CountQuery, useQueryCount } from '../kit/authenticate.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { strictBodies, useJsonBody } from '../kit/json-body.ts'
import { useNoStore } from '../kit/answer-headers.ts'
import type { ManagedLimits } from '../../app/spending/throttle/manage.ts'
import type { ManagedBalanceAlerts } from '../../app/accounts/alerts/manage.ts'
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

export interface AdminDeps extends CreditDeps, PriceManagement {
  readonly managedBudgets: ManagedBudgets
  readonly managedLimits: ManagedLimits
  readonly managedBalanceAlerts: ManagedBalanceAlerts
  readonly authenticate: Authenticate
  readonly managedTokens: ManagedTokens
  readonly countQuery?: CountQuery
}

/** What is said of an account is a few names and figures. */
const BODY_LIMIT_BYTES = 64 * 1024

/** Tenants, users, credit, prices and tokens for whoever sends an admin token, to be registered under `/api/admin`. */
export function adminPlugin(deps: AdminDeps) {
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
    budgetRoutes(instance, deps.managedBudgets)
    limitRoutes(instance, deps.managedLimits)
    balanceAlertRoutes(instance, deps.managedBalanceAlerts)
    priceBookRoutes(instance, deps.managedPriceBooks)
    whatIfRoute(instance, deps.managedPriceBooks)
    accountPriceRoutes(instance, deps.managedAccountPrices)
    adminTokenRoutes(instance, deps.managedTokens)
  }
}
