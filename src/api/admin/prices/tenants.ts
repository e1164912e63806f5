import { Type } from 'typebox'
import {
  managedAccountPrices,
  type ShownAccountPrices,
} from '../../../app/finance/prices/account-prices.ts'
import { comparedPrices } from '../../../app/finance/prices/what-if.ts'
import { accountPricesFromDocument, maxAccountPrices } from '../../../domain/account/prices.ts'
import type { AdminScope } from '../../../app/accounts/admin-scope.ts'
import { inFileName } from '../../kit/answers/files.ts'
import { fileMembers, wholeRows } from '../../kit/answers/lists.ts'
import type { Services } from '../../kit/services.ts'
import { changeReason, settingRoutes } from '../settings.ts'
import {
  NoParametersSchema,
  ownPrice,
  Percent,
  PerUnits,
  PRICES_LIMIT_BYTES,
  strict,
  toPerUnits,
} from './schemas.ts'

const Revision = Type.Integer({
  minimum: 0,
  description: 'Incremented by each change; 0: never set.',
})

const LookQuery = Type.Object({
  ...fileMembers,
  all: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'true: include prices of the list that are the same for the tenant.',
    }),
  ),
})
const PricesBody = Type.Object(
  {
    expected_revision: Type.Integer({
      minimum: 0,
      description:
        'The `revision` that the change is based on. The change is refused if the prices have another one by now.',
    }),
    multiplier: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'Factor for all prices of the list, from 0 to 100 with at most 6 decimals; absent or null: no factor.',
        examples: ['0.85'],
      }),
    ),
    prices: Type.Optional(
      Type.Array(Type.Object(ownPrice, strict), {
        maxItems: maxAccountPrices,
        description:
          'Tenant prices of single SKUs; the multiplier does not apply to them. Absent: none.',
      }),
    ),
    ...changeReason,
  },
  {
    ...strict,
    description: 'Replaces all prices of the tenant; prices that are absent are removed.',
    examples: [
      {
        expected_revision: 0,
        multiplier: '0.9',
        prices: [{ sku: 'web-search-call', currency: 'USD', unit: 'call', per: 1_000, price: '9' }],
      },
    ],
  },
)
const ClearQuery = Type.Object(
  { expected_revision: Type.Optional(Revision), ...changeReason },
  strict,
)

const members = {
  revision: Revision,
  multiplier: Type.Union([Type.String(), Type.Null()], { description: 'null: no factor.' }),
  price_book_version: Type.Union([Type.String(), Type.Null()], {
    description: 'Version of the list in effect.',
  }),
  prices: Type.Array(
    Type.Object(
      {
        sku: Type.String(),
        currency: Type.Enum(['CNY', 'USD']),
        list: Type.Union([PerUnits, Type.Null()], {
          description: 'null: the list has no price for it.',
        }),
        tenant: Type.Union([PerUnits, Type.Null()], {
          description: 'null: the multiplied price is too large.',
        }),
        own: Type.Boolean({
          description: 'true: a tenant price of this SKU, independent of the list.',
        }),
        percent: Percent,
      },
      { named: 'TenantPrice' },
    ),
  ),
}

/** Routes of a tenant's prices: an operator sets them, the tenant's admin tokens read them. */
export const accountPriceRoutes = settingRoutes({
  setting: managedAccountPrices,
  path: 'prices',
  operation: 'AccountPrices',
  roles: { get: ['finance'] },
  get: { summary: 'Get the prices of a tenant and those of the list', querystring: LookQuery },
  file: (shown, tenantId, { all }) => fileOf(toAccountPrices(shown, all === 'true'), tenantId),
  put: {
    summary: 'Replace all prices of a tenant (operators only)',
    querystring: NoParametersSchema,
    bodyLimit: PRICES_LIMIT_BYTES,
    body: PricesBody,
    failures: ['price_book_invalid', 'append_too_large'],
  },
  delete: {
    summary: 'Remove all prices of a tenant, so that list prices apply (operators only)',
    querystring: ClearQuery,
    wanted: { prices: [] },
  },
  members,
  changed: Type.Boolean({ description: 'false: they are unchanged.' }),
  read: ({ multiplier, prices }) =>
    accountPricesFromDocument({ multiplier: multiplier ?? undefined, prices }),
  toBody: (shown, query) => toAccountPrices(shown, query?.all === 'true'),
})

/** The own prices of a tenant, or with them `all` of the list as it pays them. @throws DomainError `tenant_not_found` */
export async function readAccountPrices(...asked: Parameters<typeof listAccountPrices>) {
  return (await listAccountPrices(...asked)).page()
}

/** These prices as a list that has a file. @throws DomainError `tenant_not_found` */
export async function listAccountPrices(
  { settings }: Pick<Services['accounts'], 'settings'>,
  scope: AdminScope,
  tenantId: string,
  all: boolean,
) {
  const shown = await settings.show(managedAccountPrices, scope, tenantId)
  const prices = toAccountPrices(shown, all)
  const page = { revision: shown.revision, ...prices }
  return { ...fileOf(prices, tenantId), page: () => Promise.resolve(page) }
}

const columns = [
  'sku',
  'currency',
  'own',
  'list_unit',
  'list_per',
  'list_price',
  'tenant_unit',
  'tenant_per',
  'tenant_price',
  'percent',
] as const

/** The prices of a tenant as a table: both prices in columns of the row. */
function fileOf({ prices }: ReturnType<typeof toAccountPrices>, tenantId: string) {
  const rows = prices.map(({ list, tenant, ...price }) => ({
    ...price,
    ...toColumns('list', list),
    ...toColumns('tenant', tenant),
  }))
  return { name: `prices_${inFileName(tenantId)}`, columns, rows: wholeRows(rows) }
}

const toColumns = <Name extends string>(name: Name, price: ReturnType<typeof toPerUnits>) =>
  ({
    [`${name}_unit`]: price?.unit ?? null,
    [`${name}_per`]: price?.per ?? null,
    [`${name}_price`]: price?.price ?? null,
  }) as Readonly<Record<`${Name}_${'unit' | 'per' | 'price'}`, string | number | null>>

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
