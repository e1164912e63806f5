import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Currency } from '../../kernel/money.ts'
import { successOf } from '../kit/account-surface.ts'
import { principalOf } from '../kit/authenticate.ts'
import { balanceAccountColumns, BalanceAccountSchema, toBalanceAccount } from '../kit/balances.ts'
import { nextCursor, pagesFrom, sendList } from './answers.ts'
import { describe } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { fromCursor } from '../kit/queries.ts'
import type { AccountReads } from './account-reads.ts'
import { fileMembers, Name } from './schemas.ts'
import type { QueryServices } from './services.ts'
import { narrow, visibleTo } from './scope.ts'

/** Tenants of one page. */
const DEFAULT_TENANTS = 100
const MAX_TENANTS = 1_000

const BalanceQuerySchema = Type.Object({
  tenant_id: Type.Optional(Name),
  currency: Type.Optional(Type.Enum(['CNY', 'USD'])),
  cursor: Type.Optional(
    Type.String({ maxLength: 256, description: '`next_cursor` of the previous page.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TENANTS,
      description: `Tenants per page, ${DEFAULT_TENANTS} by default. CSV: absent means all.`,
    }),
  ),
  ...fileMembers,
})

const BalanceAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(
      Type.Object({
        object: Type.Literal('balance'),
        tenant_id: Type.String(),
        accounts: Type.Array(BalanceAccountSchema),
      }),
      { description: 'One for each tenant that the token may see.' },
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
    as_of: Type.Union([Type.String(), Type.Null()], {
      description: 'Log position up to which the ledger was read.',
    }),
    updated_at: Type.Integer({ description: 'Time of the answer, in Unix seconds.' }),
  }),
)

interface BalanceFilter {
  readonly tenantId: string | undefined
  readonly currency: Currency | undefined
}

interface Page {
  readonly after: string | undefined
  readonly limit: number
}

/** Balances of the visible tenants after one of them. */
async function pageOf(
  accounts: AccountReads,
  { tenantId, currency }: BalanceFilter,
  { after, limit }: Page,
) {
  const found =
    tenantId === undefined ? await accounts.tenants({ after, limit: limit + 1 }) : [tenantId]
  const tenants = found.slice(0, limit)
  const { byTenant, asOf } = await accounts.balances(tenants, currency)
  const items = tenants.map((id) => ({
    object: 'balance' as const,
    tenant_id: id,
    accounts: (byTenant.get(id) ?? []).map(toBalanceAccount),
  }))
  return { items, asOf, next: found.length > limit ? tenants.at(-1) : undefined }
}

/** Balances of tenants: a tenant's token sees its own tenant, an operator's token all. */
export function balanceRoute(instance: FastifyInstance, services: QueryServices): void {
  const { clock, queries } = services
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/balance',
    {
      schema: {
        ...describe({
          operationId: 'listBalances',
          summary: 'List the balances of tenants, per currency',
          ok: BalanceAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: BalanceQuerySchema,
      },
    },
    async (request, reply) => {
      const { query } = request
      const visible = visibleTo(principalOf(request))
      const { tenantId } = narrow(visible, { tenantId: query.tenant_id, userId: undefined })
      const after = fromCursor(query.cursor)
      const asked = { tenantId, currency: query.currency }
      const read = (page: Page) => pageOf(queries.accounts, asked, page)
      return sendList(request, reply, query, {
        name: 'balance',
        columns: ['tenant_id', ...balanceAccountColumns],
        page: async () => {
          const { items, next, asOf } = await read({ after, limit: query.limit ?? DEFAULT_TENANTS })
          return {
            items,
            ...nextCursor(next),
            as_of: asOf === undefined ? null : String(asOf),
            updated_at: Math.floor(clock.nowMs() / 1_000),
          }
        },
        rows: async function* rows() {
          for await (const items of pagesFrom({ after, limit: query.limit }, read))
            yield items.flatMap(({ tenant_id, accounts: shown }) =>
              shown.map((row) => ({ tenant_id, ...row })),
            )
        },
      })
    },
  )
}
