import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { ManagedAccountPrices } from '../../../app/finance/prices/managed-account-prices.ts'
import { byToken, success } from '../../kit/account-surface.ts'
import { changeFailures, readFailures } from '../../kit/route-failures.ts'
import { describe } from '../documentation.ts'
import { reachOf } from '../reach.ts'
import { TenantParamsSchema } from '../schemas.ts'
import { PRICES_LIMIT_BYTES } from './body-limit.ts'
import {
  AccountPricesAnswerSchema,
  AccountPricesQuerySchema,
  ClearedPricesQuerySchema,
  NewAccountPricesSchema,
  NoParametersSchema,
  SetAccountPricesAnswerSchema,
} from './schemas.ts'
import { toAccountPrices } from './views.ts'

const PATH = '/tenants/:tenant_id/prices'

/** What a tenant pays instead of the list: an operator sets it, the tenant's admin tokens see it. */
export function accountPriceRoutes(instance: FastifyInstance, prices: ManagedAccountPrices): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describe({
    operationId: 'getAccountPrices',
    summary: 'Prices of a tenant beside the list',
    ok: AccountPricesAnswerSchema,
    failures: [...readFailures, 'tenant_not_found'],
  })
  app.get(PATH, {
    schema: { ...get, params: TenantParamsSchema, querystring: AccountPricesQuerySchema },
    handler: async (request) => {
      const input = {
        tenantId: request.params.tenant_id,
        all: request.query.all === 'true',
      }
      const found = await prices.show(reachOf(request), input)
      return success(toAccountPrices(found))
    },
  })
  changeRoutes(instance, prices)
}

function changeRoutes(instance: FastifyInstance, prices: ManagedAccountPrices): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const failures = [...changeFailures, 'tenant_not_found', 'account_prices_changed'] as const
  const put = describe({
    operationId: 'setAccountPrices',
    summary: 'Set all prices of a tenant: an operator alone',
    ok: SetAccountPricesAnswerSchema,
    failures: [
      ...failures,
      'body_empty',
      'price_book_invalid',
      'account_prices_invalid',
      'append_too_large',
    ],
  })
  app.put(PATH, {
    bodyLimit: PRICES_LIMIT_BYTES,
    schema: {
      ...put,
      params: TenantParamsSchema,
      querystring: NoParametersSchema,
      body: NewAccountPricesSchema,
    },
    handler: async (request) => {
      const { expected_revision: basis, multiplier, prices: own } = request.body
      const { changed, warnings, ...set } = await prices.set(reachOf(request), byToken(request), {
        tenantId: request.params.tenant_id,
        document: { multiplier: multiplier ?? undefined, prices: own },
        basis,
      })
      return success({ ...toAccountPrices(set), changed }, warnings)
    },
  })
  const clear = describe({
    operationId: 'clearAccountPrices',
    summary: 'Bring a tenant back to the list: an operator alone',
    ok: SetAccountPricesAnswerSchema,
    failures,
  })
  app.delete(PATH, {
    schema: { ...clear, params: TenantParamsSchema, querystring: ClearedPricesQuerySchema },
    handler: async (request) => {
      const { expected_revision: basis } = request.query
      const { changed, ...set } = await prices.set(reachOf(request), byToken(request), {
        tenantId: request.params.tenant_id,
        document: {},
        ...(basis === undefined ? {} : { basis }),
      })
      return success({ ...toAccountPrices(set), changed })
    },
  })
}
