import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type { ModelPrice } from '../../app/finance/prices/model-prices.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { modelFailures } from '../kit/failures/call-failures.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { findModel, listModels, type Models } from '../kit/routes/models.ts'
import { describeV1 } from './documentation.ts'
import { ModelSchema } from './models.ts'

/** This route says what the tenant of a token pays now for the models that the token may use. */

const Decimal = Type.String({ description: 'Exact decimal string.' })

const price = {
  sku: Type.String(),
  unit: Type.String({ description: 'What is counted, such as `token`, `image` or `second`.' }),
  per: Type.Integer({ description: 'Number of units that the price is for.' }),
  price: Decimal,
  currency: Type.Enum(['CNY', 'USD']),
  list_price: Type.Union([Decimal, Type.Null()], {
    description: 'Price of the price book for as many units; null where it has none.',
  }),
  price_book: Type.String({ description: 'Version of the price book in effect.' }),
  account_prices: Type.Union([Type.Integer(), Type.Null()], {
    description:
      "Revision of the tenant's prices that this price comes from; null for a price of the price book.",
  }),
}

/** A model with its prices. */
export const PricedModelSchema = Type.Object({
  ...ModelSchema.properties,
  prices: Type.Array(Type.Object(price, { named: 'ModelPrice' })),
})

const PriceListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(Type.Object({ model: Type.String(), ...price }, { named: 'PriceOfModel' })),
  },
  { named: 'PriceList' },
)

function shownPrice({ sku, unit, per, price: amount, currency, ...rest }: ModelPrice) {
  const { listPrice, priceBookVersion, accountPrices } = rest
  return {
    sku,
    unit,
    per,
    price: amount,
    currency,
    list_price: listPrice ?? null,
    price_book: priceBookVersion,
    account_prices: accountPrices ?? null,
  }
}

/** The failures of reading prices: those of a model, and stores that are unavailable. */
export const priceFailures: readonly FailureCode[] = [
  ...modelFailures,
  'log_unavailable',
  'database_unavailable',
]

/** A model and its prices. @throws as `findModel`, and as `TenantPrices.of` */
export async function pricedModel(models: Models, principal: Principal, id: string) {
  const view = findModel(models, principal, id)
  const prices = await models.prices(principal.tenantId, [view.id])
  return {
    ...view,
    supported_endpoints: [...view.supported_endpoints],
    prices: prices.map(shownPrice),
  }
}

/** The route of prices, registered below `/v1`. */
export function priceRoute(
  instance: FastifyInstance,
  { models }: { readonly models: Models },
): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/prices', {
    schema: {
      ...describeV1({
        tag: 'Prices',
        operationId: 'listPrices',
        summary: 'List what the tenant pays now for the models that the token may use',
        ok: PriceListSchema,
        failures: priceFailures,
      }),
      querystring: Type.Object({
        model: Type.Optional(Type.String({ description: 'Only the prices of this model.' })),
      }),
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { model } = request.query
      const names =
        model === undefined
          ? listModels(models, principal).map(({ id }) => id)
          : [findModel(models, principal, model).id]
      const prices = await models.prices(principal.tenantId, names)
      void reply.header('cache-control', 'no-store')
      return {
        object: 'list' as const,
        data: prices.map((one) => ({ model: one.model, ...shownPrice(one) })),
      }
    },
  })
}
