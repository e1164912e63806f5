import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { isRepeatPlace } from '../../../projections/timeline/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { ChargedTwice } from '../../app/support/repeats.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import type { OfToken } from './account-reads.ts'
import { fileMembers, sendList } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { factsOf, placeOf, positionedList } from './report-query.ts'
import { AsOf, Cursor, Decimal, Limit, NameOf, TextOrNull } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readRecentRange, timeRangeMembers } from './time-range.ts'

/** Requests that were charged twice: the same body again, of the same token, within ten minutes. */

export const RepeatsQuerySchema = Type.Object({
  ...timeRangeMembers,
  tenant_id: NameOf('Only of this tenant.'),
  user_id: NameOf('Only requests of this user.'),
  token_id: NameOf('Only requests with this token.'),
  model: NameOf('Only of this model, by its external name.'),
  as_of: Type.Optional(AsOf),
  cursor: Cursor,
  limit: Limit,
  ...fileMembers,
})
type RepeatsQuery = Partial<Static<typeof RepeatsQuerySchema>>

const reasons = ['retry', 'same_body'] as const

const RepeatSchema = Type.Object(
  {
    id: Type.String({ description: 'The request that came later: a call, or a task.' }),
    earlier_id: Type.String({
      description: 'The charged request before it with the same body, of the same token.',
    }),
    why: Type.Enum([...reasons], {
      description: '`retry`: the client says that it tries again; `same_body`: it does not.',
    }),
    retry: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The retry that the later request is, as its client counts.',
    }),
    at: Type.String({ description: 'RFC 3339: when the log recorded the later request.' }),
    after_ms: Type.Integer({ description: 'From the earlier request to the later one.' }),
    tenant_id: Type.String(),
    user_id: Type.Union([Type.String(), Type.Null()]),
    token_id: Type.String(),
    token_last_four: TextOrNull('Last four characters of the secret of the token.'),
    model: Type.String(),
    surface: Type.String(),
    currency: Type.String(),
    amount: Decimal,
    refunded: Decimal,
    earlier_amount: Decimal,
    earlier_refunded: Decimal,
  },
  { named: 'Repeat' },
)
type ShownRepeat = Static<typeof RepeatSchema>

const RepeatTotalSchema = Type.Object(
  {
    why: Type.Enum([...reasons]),
    currency: Type.String({ description: 'Currencies are never added up.' }),
    requests: Type.Integer({ minimum: 0 }),
    amount: Decimal,
    refunded: Decimal,
  },
  { named: 'RepeatTotal' },
)
type RepeatTotal = Static<typeof RepeatTotalSchema>

const RepeatsAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(RepeatSchema),
    totals: Type.Array(RepeatTotalSchema, {
      description: 'Sums of `amount` and `refunded` of these items, by why and currency.',
    }),
    next_cursor: NextCursor,
    as_of: Type.String({
      description: 'Log position that the list is as of; its cursors keep it.',
    }),
  }),
)

const columns = Object.keys(RepeatSchema.properties) as readonly (keyof ShownRepeat)[]

const shownRepeat = (one: OfToken<ChargedTwice>): ShownRepeat => ({
  id: one.sourceId,
  earlier_id: one.earlier.sourceId,
  why: one.why,
  retry: one.retry ?? null,
  at: toTimestamp(one.atMs),
  after_ms: one.atMs - one.earlier.atMs,
  tenant_id: one.tenantId,
  user_id: one.userId ?? null,
  token_id: one.tokenId,
  token_last_four: one.tokenLastFour ?? null,
  model: one.model,
  surface: one.surface,
  currency: one.currency,
  amount: one.amount,
  refunded: one.refunded,
  earlier_amount: one.earlier.amount,
  earlier_refunded: one.earlierRefunded,
})

function totalsOf(items: readonly ShownRepeat[]): RepeatTotal[] {
  const groups = new Map<string, { of: ShownRepeat; requests: number; sums: [bigint, bigint] }>()
  for (const item of items) {
    const key = `${item.why} ${item.currency}`
    const { requests, sums } = groups.get(key) ?? { requests: 0, sums: [0n, 0n] }
    const [amount, refunded] = [parseAmount(item.amount), parseAmount(item.refunded)]
    groups.set(key, {
      of: item,
      requests: requests + 1,
      sums: [sums[0] + amount, sums[1] + refunded],
    })
  }
  return [...groups.values()].map(({ of: { why, currency }, requests, sums }) => ({
    why,
    currency,
    requests,
    amount: formatAmount(sums[0]),
    refunded: formatAmount(sums[1]),
  }))
}

/** Requests that were charged again, newest first: `repeats` of the query API. */
export async function readRepeats(
  { queries: { accounts }, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: RepeatsQuery,
) {
  const visible = visibleTo(principal)
  const { asOf, ...place } = placeOf(['repeats', visible], query, isRepeatPlace)
  const filter = {
    ...narrow(visible, { tenantId: query.tenant_id, userId: query.user_id }),
    ...readRecentRange(query, clock.nowMs()),
    tokenId: query.token_id,
    model: query.model,
    asOf: await accounts.failurePosition(toPosition(asOf)),
  }
  const list = positionedList(
    { ...place, limit: query.limit },
    { filter },
    (page) => accounts.repeats(filter, page),
    shownRepeat,
  )
  return {
    name: 'repeats',
    columns,
    ...list,
    page: async () => {
      const page = await list.page()
      return { ...page, totals: totalsOf(page.items) }
    },
    facts: factsOf({ filter }, query.tz),
  }
}

/** Requests that were charged twice, newest first. */
export function repeatsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/repeats',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'listRepeats',
          summary: 'List requests that were charged twice, newest first',
          ok: RepeatsAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: RepeatsQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readRepeats(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
