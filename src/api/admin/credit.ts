import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { ManagedTenants } from '../../app/accounts/managed-tenants.ts'
import type { ReadBalances } from '../../app/finance/balances.ts'
import { success } from '../kit/account-surface.ts'
import { toBalanceAccount } from '../kit/balance-view.ts'
import { changeFailures, readFailures } from '../kit/management-failures.ts'
import { byToken } from '../kit/by-token.ts'
import { describe } from './documentation.ts'
import { reachOf } from './reach.ts'
import {
  CreditAnswerSchema,
  CreditLimitAnswerSchema,
  CreditLimitSchema,
  GrantAnswerSchema,
  NewGrantSchema,
  TenantParamsSchema,
} from './schemas.ts'

export interface CreditDeps {
  readonly managedTenants: ManagedTenants
  readonly readBalances: ReadBalances
}

/** What a tenant may spend: an operator gives it. */
export function creditRoutes(instance: FastifyInstance, deps: CreditDeps): void {
  const { managedTenants: tenants, readBalances } = deps
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describe({
    operationId: 'getCredit',
    summary: 'What a tenant has, per currency',
    ok: CreditAnswerSchema,
    failures: [...readFailures, 'tenant_not_found'],
  })
  app.get('/tenants/:tenant_id/credit', {
    schema: { ...get, params: TenantParamsSchema },
    handler: async (request) => {
      const { tenantId } = await tenants.find(reachOf(request), request.params.tenant_id)
      const { byTenant, asOf } = await readBalances([tenantId], undefined)
      return success({
        object: 'credit' as const,
        tenant_id: tenantId,
        accounts: (byTenant.get(tenantId) ?? []).map(toBalanceAccount),
        as_of: asOf === undefined ? null : String(asOf),
      })
    },
  })
  const grant = describe({
    operationId: 'grantCredit',
    summary: 'Give credit: an operator alone',
    ok: GrantAnswerSchema,
    failures: [
      ...changeFailures,
      'body_empty',
      'tenant_not_found',
      'amount_invalid',
      'posting_id_taken',
    ],
  })
  app.post('/tenants/:tenant_id/credit/grants', {
    schema: { ...grant, params: TenantParamsSchema, body: NewGrantSchema },
    handler: async (request) => {
      const { currency, amount, reason, grant_id: grantId } = request.body
      const { tenant_id: tenantId } = request.params
      const named = grantId === undefined ? {} : { grantId }
      const input = { tenantId, currency, amount, reason, ...named }
      const granted = await tenants.grant(reachOf(request), byToken(request), input)
      const { grantId: id, changed } = granted
      const object = 'credit_grant' as const
      return success({ object, id, tenant_id: tenantId, currency, amount, changed })
    },
  })
  const limit = describe({
    operationId: 'setCreditLimit',
    summary: 'How far below zero a balance may go: an operator alone',
    ok: CreditLimitAnswerSchema,
    failures: [...changeFailures, 'body_empty', 'tenant_not_found', 'amount_invalid'],
  })
  app.put('/tenants/:tenant_id/credit/limit', {
    schema: { ...limit, params: TenantParamsSchema, body: CreditLimitSchema },
    handler: async (request) => {
      const { currency, amount } = request.body
      const { tenant_id: tenantId } = request.params
      const input = { tenantId, currency, limit: amount }
      const { changed } = await tenants.setLimit(reachOf(request), byToken(request), input)
      const object = 'credit_limit' as const
      return success({ object, tenant_id: tenantId, currency, amount, changed })
    },
  })
}
