import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { AdminScope } from '../../../app/accounts/admin-scope.ts'
import type { WhatIf, WhatIfRow, WhatIfTotal } from '../../../app/finance/prices/what-if.ts'
import { KnownId, success, successOf } from '../../kit/routes/account-surface.ts'
import { withQueryTimeout, boundOf, TimeBound } from '../../kit/routes/queries.ts'
import { RequestError } from '../../kit/request-error.ts'
import { accountReadFailures } from '../../kit/failures/route-failures.ts'
import type { Services } from '../../kit/services.ts'
import { describeAdmin, adminScopeOf } from '../envelope.ts'
import { BookParamsSchema } from './schemas.ts'

/** Rows of one answer at most. */
const MAX_ROWS = 10_000
const NARROW = 'ask for a shorter time range, or for one tenant with tenant_id'

const WhatIfQuerySchema = Type.Object({
  from: TimeBound('Start of the settlement time, inclusive: a date, or RFC 3339.'),
  to: Type.Optional(TimeBound('End of the settlement time, exclusive; now by default.')),
  tenant_id: Type.Optional(KnownId),
})

const OrNone = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const currency = Type.Enum(['CNY', 'USD'])
const WhatIfAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('price_book_what_if'),
    version: Type.String(),
    rows: Type.Array(
      Type.Object({
        tenant_id: Type.String(),
        sku: Type.String(),
        currency,
        unit: Type.String(),
        lines: Type.Integer(),
        quantity: Type.String(),
        recorded: Type.String({ description: 'Amount that was settled.' }),
        what_if: OrNone(
          'Amount under the price book; null: the book has no price, so that the request would have been refused.',
        ),
        difference: OrNone('`what_if` less `recorded`.'),
        percent: OrNone(
          'Change in per cent, signed, with two decimals; null where `recorded` is 0.',
        ),
      }),
    ),
    totals: Type.Array(
      Type.Object({
        currency,
        lines: Type.Integer(),
        recorded: Type.String(),
        what_if: Type.String(),
        difference: Type.String(),
        percent: OrNone(
          'Change in per cent, signed, with two decimals; null where `recorded` is 0.',
        ),
        unpriced: Type.Object(
          { lines: Type.Integer(), recorded: Type.String() },
          { description: 'Lines without a price in the book; the other figures leave them out.' },
        ),
      }),
      { description: 'One entry per currency; currencies are never added up.' },
    ),
  }),
)

const toRow = ({ tenantId, whatIf, ...row }: WhatIfRow) => ({
  tenant_id: tenantId,
  ...row,
  what_if: whatIf,
})
const toTotal = ({ whatIf, ...total }: WhatIfTotal) => ({ ...total, what_if: whatIf })

/** Calculates for an operator what settled usage would have cost under a book; writes nothing. */
export function whatIfRoute(
  instance: FastifyInstance,
  { priceBooks: books }: Pick<Services['accounts'], 'priceBooks'>,
): void {
  const schema = describeAdmin({
    operationId: 'rateUnderPriceBook',
    summary: 'Calculate what settled usage would have cost under a price book (operators only)',
    ok: WhatIfAnswerSchema,
    failures: [
      ...accountReadFailures,
      'scope_denied',
      'price_book_not_found',
      'tenant_not_found',
      'query_too_long',
    ],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/price-books/:version/what-if', {
    config: { roles: ['finance'] },
    schema: { ...schema, params: BookParamsSchema, querystring: WhatIfQuerySchema },
    handler: async (request) => {
      const { version } = request.params
      return success(await readWhatIf(books, adminScopeOf(request), version, request.query))
    },
  })
}

/** The cost of settled usage under a price book. @throws DomainError, RequestError */
export async function readWhatIf(
  books: Services['accounts']['priceBooks'],
  scope: AdminScope,
  version: string,
  { from, to, tenant_id: tenantId }: Static<typeof WhatIfQuerySchema>,
) {
  const fromMs = boundOf(from, 'from') ?? 0
  const toMs = boundOf(to, 'to')
  if (toMs !== undefined && toMs <= fromMs)
    throw new RequestError('parameter_invalid', 'to must be later than from', 'to')
  const { rows, totals } = await withQueryTimeout(NARROW, async () =>
    read(await books.whatIf(scope, { version, fromMs, toMs, tenantId })),
  )
  return {
    object: 'price_book_what_if' as const,
    version,
    rows: rows.map(toRow),
    totals: totals.map(toTotal),
  }
}

/** @throws RequestError `query_too_long` */
async function read(whatIf: WhatIf) {
  const rows: WhatIfRow[] = []
  for await (const row of whatIf.rows()) {
    if (rows.length === MAX_ROWS)
      throw new RequestError('query_too_long', `more than ${MAX_ROWS} rows: ${NARROW}`)
    rows.push(row)
  }
  return { rows, totals: whatIf.totals() }
}
