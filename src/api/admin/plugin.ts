import type { FastifyInstance } from 'fastify'
import { requireToken, type TokenServices, useQueryBounds } from '../kit/tokens/authenticate.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { strictBodies, useJsonBody } from '../kit/bodies/json-body.ts'
import { useNoStore } from '../kit/answers/answer-headers.ts'
import type { Services } from '../kit/services.ts'
import { approvalRoutes } from './approvals.ts'
import { balanceAlertRoutes } from './balance-alerts.ts'
import { billingRoutes } from './billing.ts'
import { budgetRoutes } from './budgets.ts'
import { issuerRoutes } from './issuer.ts'
import { limitRoutes } from './limits.ts'
import { adminCreditRoutes } from './credit.ts'
import { adminEnvelope } from './envelope.ts'
import { periodRoutes } from './periods.ts'
import { proposalRoutes } from './proposals.ts'
import { adminLifeRoutes } from './lives.ts'
import { priceBookRoutes } from './prices/books.ts'
import { skuPricesRoute } from './prices/skus.ts'
import { whatIfRoute } from './prices/what-if.ts'
import { accountPriceRoutes } from './prices/tenants.ts'
import { nameRoutes, statusRoutes, userLifeRoutes } from './status.ts'
import { tenantRoutes, userRoutes } from './tenants.ts'
import { reportingRoutes } from './reporting.ts'
import { adminTokenRoutes } from './tokens.ts'
import { voidRoutes } from './voids.ts'

/** In the order of the documentation. */
const routes: readonly ((instance: FastifyInstance, accounts: Services['accounts']) => void)[] = [
  tenantRoutes,
  userRoutes,
  statusRoutes,
  nameRoutes,
  userLifeRoutes,
  adminCreditRoutes,
  proposalRoutes,
  approvalRoutes,
  budgetRoutes,
  limitRoutes,
  balanceAlertRoutes,
  reportingRoutes,
  billingRoutes,
  issuerRoutes,
  periodRoutes,
  voidRoutes,
  priceBookRoutes,
  skuPricesRoute,
  whatIfRoute,
  accountPriceRoutes,
  adminTokenRoutes,
  adminLifeRoutes,
]

/** Bodies about an account hold a few names and figures. */
const BODY_LIMIT_BYTES = 64 * 1024

/**
 * Tenants, users, credit, prices and tokens for holders of an admin token, to be registered under
 * `/api/admin`.
 */
export function adminPlugin(
  services: TokenServices &
    Pick<Services, 'accounts'> & { readonly throttle: Pick<Services['throttle'], 'query'> },
) {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (instance: FastifyInstance): Promise<void> => {
    useEnvelope(instance, adminEnvelope)
    useNoStore(instance)
    useJsonBody(instance, BODY_LIMIT_BYTES)
    requireToken(instance, services, 'admin')
    useQueryBounds(instance, services)
    instance.setValidatorCompiler(strictBodies)
    for (const register of routes) register(instance, services.accounts)
  }
}
