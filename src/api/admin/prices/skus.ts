import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { SkuPrice } from '../../../../projections/prices/query.ts'
import type { AdminScope } from '../../../app/accounts/admin-scope.ts'
import type { ManagedPriceBooks } from '../../../app/finance/prices/managed-price-books.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { KnownId, successOf } from '../../kit/routes/account-surface.ts'
import { accountReadFailures } from '../../kit/failures/route-failures.ts'
import { inFileName } from '../../kit/answers/files.ts'
import { fileMembers, sendList, wholeList } from '../../kit/answers/lists.ts'
import { RequestError } from '../../kit/request-error.ts'
import { boundOf, TimeBound } from '../../kit/routes/queries.ts'
import type { Services } from '../../kit/services.ts'
import { adminScopeOf, describeAdmin } from '../envelope.ts'
import { ownPrice } from './schemas.ts'

/** The list price of one SKU at a time, and how it changed from price book to price book. */

export const SkuPricesQuerySchema = Type.Object({
  sku: KnownId,
  at: Type.Optional(
    TimeBound(
      'The time whose price is marked, RFC 3339 with an offset, or the beginning of a day in UTC; now by default.',
    ),
  ),
  ...fileMembers,
})
type Query = Static<typeof SkuPricesQuerySchema>

const TimeOrNull = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })

const SkuPriceSchema = Type.Object(
  {
    ...ownPrice,
    from: Type.String({ description: 'RFC 3339: when it takes or took effect.' }),
    until: TimeOrNull('RFC 3339: when another price, or none, follows; null: it is the last one.'),
    price_book_version: Type.String({ description: 'The first price book that has it.' }),
    is_at: Type.Boolean({ description: 'true: it is the price at the time that was asked for.' }),
  },
  { named: 'SkuPrice' },
)
type ShownPrice = Static<typeof SkuPriceSchema>

const AnswerSchema = successOf(
  Type.Object({
    sku: Type.String(),
    at: Type.String({ description: 'RFC 3339.' }),
    items: Type.Array(SkuPriceSchema, { description: 'By currency, the latest first.' }),
  }),
)

const columns = [
  'sku',
  'currency',
  'unit',
  'per',
  'price',
  'from',
  'until',
  'price_book_version',
  'is_at',
] as const

const isSame = (one: SkuPrice, other: SkuPrice): boolean =>
  one.price === other.price && one.per === other.per && one.unit === other.unit

/** Prices of one currency as ranges: books that do not change the price are one range. */
function rangesOf(prices: readonly SkuPrice[], atMs: number): readonly ShownPrice[] {
  const ranges: { first: SkuPrice; untilMs: number | undefined }[] = []
  for (const price of prices) {
    const last = ranges.at(-1)
    const isNext = last?.untilMs === price.fromMs
    if (last !== undefined && isNext && isSame(last.first, price)) last.untilMs = price.untilMs
    else ranges.push({ first: price, untilMs: price.untilMs })
  }
  return ranges.toReversed().map(({ first, untilMs }) => ({
    sku: first.sku,
    currency: first.currency,
    unit: first.unit,
    per: first.per,
    price: first.price,
    from: toTimestamp(first.fromMs),
    until: untilMs === undefined ? null : toTimestamp(untilMs),
    price_book_version: first.version,
    is_at: first.fromMs <= atMs && (untilMs === undefined || atMs < untilMs),
  }))
}

/**
 * The list prices of a SKU over time, and the one at a time. @throws DomainError `scope_denied`; RequestError for a SKU
 * that no price book has
 */
export async function readSkuPrices(
  books: Pick<ManagedPriceBooks, 'skuPrices'>,
  scope: AdminScope,
  { sku, at }: Pick<Query, 'sku' | 'at'>,
) {
  const asked = { sku, atMs: boundOf(at, 'at') }
  const { prices, atMs } = await books.skuPrices(scope, asked)
  if (prices.length === 0)
    throw new RequestError('parameter_invalid', `no price book has the SKU \`${sku}\``, 'sku')
  const currencies = [...new Set(prices.map(({ currency }) => currency))]
  const items = currencies.flatMap((currency) =>
    rangesOf(
      prices.filter((one) => one.currency === currency),
      atMs,
    ),
  )
  return {
    name: `sku-prices_${inFileName(sku)}`,
    columns,
    ...wholeList({ sku, at: toTimestamp(atMs), items }),
  }
}

/** The route of the prices of a SKU. */
export function skuPricesRoute(
  instance: FastifyInstance,
  { priceBooks }: Pick<Services['accounts'], 'priceBooks'>,
): void {
  const schema = describeAdmin({
    operationId: 'listSkuPrices',
    summary: 'List the list prices of a SKU over time (operators only)',
    ok: AnswerSchema,
    failures: [...accountReadFailures, 'scope_denied'],
    csv: true,
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/sku-prices', {
    config: { roles: ['finance'] },
    schema: { ...schema, querystring: SkuPricesQuerySchema },
    handler: async (request, reply) => {
      const { query } = request
      const list = await readSkuPrices(priceBooks, adminScopeOf(request), query)
      return sendList(request, reply, query, list)
    },
  })
}
