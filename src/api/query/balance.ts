import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type { OpenHolds } from '../../../projections/ledger/query.ts'
import type { BalanceMoment } from '../../app/finance/past-balances.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import type { Currency } from '../../kernel/money.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import {
  balanceAccountColumns,
  BalanceAccountSchema,
  toBalanceAccount,
  toPastAccount,
} from '../kit/answers/balances.ts'
import { TimeBound } from '../kit/routes/queries.ts'
import { RequestError } from '../kit/request-error.ts'
import type { AccountReads } from './account-reads.ts'
import { nextCursor, pagesFrom, sendList, fileMembers } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { placeOf } from './report-query.ts'
import { AsOf, NameOf } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readBound, readZone, timeRangeMembers } from './time-range.ts'

/** Tenants of one page. */
const DEFAULT_TENANTS = 100
const MAX_TENANTS = 1_000

export const BalanceQuerySchema = Type.Object({
  tenant_id: NameOf('Only of this tenant.'),
  currency: Type.Optional(Type.Enum(['CNY', 'USD'], { description: 'Only in this currency.' })),
  at: Type.Optional(
    TimeBound(
      'The balance at this time, RFC 3339 with an offset, or at the beginning of a day of the zone.',
    ),
  ),
  as_of: Type.Optional(AsOf),
  tz: timeRangeMembers.tz,
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

/** Some figures are known only as they are now: they are null in balances of the past. */
const OrNull = <T extends ReturnType<typeof Type.String>>(type: T) =>
  Type.Union([type, Type.Null()])
const {
  held,
  reserved,
  credit_limit: creditLimit,
  available,
  ...bookedMembers
} = BalanceAccountSchema.properties
const ShownAccountSchema = Type.Object(
  {
    ...bookedMembers,
    held: OrNull(held),
    reserved: OrNull(reserved),
    credit_limit: OrNull(creditLimit),
    available: OrNull(available),
    held_tasks: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Tasks whose holds are part of `held`; null in a balance of the past.',
    }),
    held_since: Type.Union([Type.String(), Type.Null()], {
      description: 'RFC 3339: when the oldest of these tasks was admitted; null: there is none.',
    }),
  },
  { named: 'BalanceAt' },
)
type ShownAccount = Static<typeof ShownAccountSchema>

const BalanceAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(
      Type.Object({
        object: Type.Literal('balance'),
        tenant_id: Type.String(),
        accounts: Type.Array(ShownAccountSchema),
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

type BalanceQuery = Partial<Static<typeof BalanceQuerySchema>>

interface BalancePage {
  readonly after: string | undefined
  readonly limit: number
}

/** The moment of the past that is asked for, by a time, by a position or by a page before. */
async function momentOf(
  { reads }: QueryServices['queries'],
  { at, tz, currency }: BalanceQuery,
  asOf: string | undefined,
): Promise<BalanceMoment | undefined> {
  if (tz !== undefined && at === undefined)
    throw new RequestError('parameter_invalid', 'tz is the zone of a day in `at`', 'tz')
  const toMs = readBound(at, 'at', readZone(tz))
  if (toMs === undefined && asOf === undefined) return undefined
  return { currency, toMs, asOf: await reads.ledgerPosition(toPosition(asOf)) }
}

/** How many tasks hold, and since when. */
function heldMembers(holds: OpenHolds | undefined) {
  return {
    held_tasks: holds?.tasks ?? 0,
    held_since: holds === undefined ? null : toTimestamp(holds.sinceMs),
  }
}

/** Accounts by tenant as they are now, or as they were. */
async function accountsOf(
  accounts: AccountReads,
  tenants: readonly string[],
  { currency, moment }: { currency: Currency | undefined; moment: BalanceMoment | undefined },
): Promise<{ readonly of: (id: string) => ShownAccount[]; readonly asOf: bigint | undefined }> {
  if (moment === undefined) {
    const { byTenant, asOf } = await accounts.balances(tenants, currency)
    const holds = await accounts.openHolds(tenants)
    const of = (id: string) =>
      (byTenant.get(id) ?? []).map((balance) => {
        const held = holds.get(id)?.find((one) => one.currency === balance.currency)
        return { ...toBalanceAccount(balance), ...heldMembers(held) }
      })
    return { of, asOf }
  }
  const past = await accounts.pastBalances(tenants, moment)
  const unknown = { held_tasks: null, held_since: null }
  const of = (id: string) =>
    (past.get(id) ?? []).map((balance) => ({ ...toPastAccount(balance), ...unknown }))
  return { of, asOf: moment.asOf }
}

/** Balances of tenants, as they are or as they were: `balance` of the query API. */
export async function readBalance(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: BalanceQuery,
) {
  const { accounts } = queries
  const visible = visibleTo(principal)
  const { tenantId } = narrow(visible, { tenantId: query.tenant_id, userId: undefined })
  const { listKey, after, asOf: asked } = placeOf(['balance', visible], query)
  const { currency } = query
  const moment = await momentOf(queries, query, asked)
  const read = async ({ after: behind, limit }: BalancePage) => {
    const found =
      tenantId === undefined
        ? await accounts.tenants({ after: behind, limit: limit + 1 })
        : [tenantId]
    const tenants = found.slice(0, limit)
    const { of, asOf } = await accountsOf(accounts, tenants, { currency, moment })
    const items = tenants.map((id) => ({
      object: 'balance' as const,
      tenant_id: id,
      accounts: of(id),
    }))
    return { items, asOf, next: found.length > limit ? tenants.at(-1) : undefined }
  }
  return {
    name: 'balance',
    columns: ['tenant_id', ...balanceAccountColumns, 'held_tasks', 'held_since'] as const,
    page: async () => {
      const { items, next, asOf } = await read({ after, limit: query.limit ?? DEFAULT_TENANTS })
      const place = moment === undefined ? next : next && `${moment.asOf}~${next}`
      return {
        items,
        ...nextCursor(place, listKey),
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
  }
}

/** Balances of tenants: a tenant's token sees its own tenant, an operator's token all. */
export function balanceRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/balance',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listBalances',
          summary: 'List the balances of tenants, per currency, as they are or were',
          ok: BalanceAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: BalanceQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readBalance(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
