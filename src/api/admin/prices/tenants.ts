import { Type } from 'typebox'
import {
  managedAccountPrices,
  type ShownAccountPrices,
} from '../../../app/finance/prices/account-prices.ts'
import { comparedPrices } from '../../../app/finance/prices/what-if.ts'
import { accountPricesFromDocument, maxAccountPrices } from '../../../domain/account/prices.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import { settingRoutes } from '../settings.ts'
import {
  NoParametersSchema,
  ownPrice,
  Percent,
  perUnits,
  PRICES_LIMIT_BYTES,
  strict,
} from './schemas.ts'

const Revision = Type.Integer({
  minimum: 0,
  description: 'Counted from 1 each time they are set; 0: they never were.',
})

const LookQuery = Type.Object({
  all: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'Every price of the list too, not its own alone.',
    }),
  ),
})
const PricesBody = Type.Object(
  {
    expected_revision: Type.Integer({
      minimum: 0,
      description:
        'The `revision` that was looked at: where they were set since, nothing is changed.',
    }),
    multiplier: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'What prices of the list are multiplied by, from 0 to 100 with at most 6 decimals; absent or null: nothing.',
        examples: ['0.85'],
      }),
    ),
    prices: Type.Optional(
      Type.Array(Type.Object(ownPrice, strict), {
        maxItems: maxAccountPrices,
        description: 'Own prices of single SKUs, never multiplied; absent: none.',
      }),
    ),
  },
  {
    ...strict,
    description: 'All of the prices: what is absent is taken away.',
    examples: [
      {
        expected_revision: 0,
        multiplier: '0.9',
        prices: [{ sku: 'web-search-call', currency: 'USD', unit: 'call', per: 1_000, price: '9' }],
      },
    ],
  },
)
const ClearQuery = Type.Object({ expected_revision: Type.Optional(Revision) }, strict)

const PerUnits = Type.Object(perUnits, { named: 'PricePerUnits' })
const members = {
  revision: Revision,
  multiplier: Type.Union([Type.String(), Type.Null()], { description: 'null: none.' }),
  price_book_version: Type.Union([Type.String(), Type.Null()], {
    description: 'Of the list, in effect now.',
  }),
  prices: Type.Array(
    Type.Object(
      {
        sku: Type.String(),
        currency: Type.Enum(['CNY', 'USD']),
        list: Type.Union([PerUnits, Type.Null()], {
          description: 'null: the list has none.',
        }),
        tenant: Type.Union([PerUnits, Type.Null()], {
          description: 'null: multiplied it is too large for a price.',
        }),
        own: Type.Boolean({ description: 'A price of its own, whatever the list says.' }),
        percent: Percent,
      },
      { named: 'TenantPrice' },
    ),
  ),
}

/** What a tenant pays instead of the list: an operator sets it, the tenant's admin tokens see it. */
export const accountPriceRoutes = settingRoutes({
  setting: managedAccountPrices,
  path: 'prices',
  operation: 'AccountPrices',
  get: { summary: 'Prices of a tenant beside the list', querystring: LookQuery },
  put: {
    summary: 'Set all prices of a tenant: an operator alone',
    querystring: NoParametersSchema,
    bodyLimit: PRICES_LIMIT_BYTES,
    body: PricesBody,
    failures: ['price_book_invalid', 'append_too_large'],
  },
  delete: {
    summary: 'Bring a tenant back to the list: an operator alone',
    querystring: ClearQuery,
    wanted: { prices: [] },
  },
  members,
  changed: Type.Boolean({ description: 'false: they are unchanged.' }),
  read: ({ multiplier, prices }) =>
    accountPricesFromDocument({ multiplier: multiplier ?? undefined, prices }),
  toBody: (shown, query) => toAccountPrices(shown, query?.all === 'true'),
})

const toPerUnits = (price: PriceEntry | undefined) =>
  price === undefined ? null : { unit: price.unit, per: price.per, price: price.price }

function toAccountPrices({ book, ...prices }: ShownAccountPrices, all: boolean) {
  return {
    multiplier: prices.multiplier ?? null,
    price_book_version: book?.version ?? null,
    prices: comparedPrices(book, prices, all).map(
      ({ sku, currency, list, tenant, percent = null }) => ({
        sku,
        currency,
        list: toPerUnits(list),
        tenant: toPerUnits(tenant),
        own: tenant?.accountPrice?.kind === 'own',
        percent,
      }),
    ),
  }
}
