import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { type CountedRefusals, isRefusalPlace } from '../../app/support/refusal-list.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { fromCursor, listKeyOf, NextCursor } from '../kit/routes/queries.ts'
import type { OfToken } from './account-reads.ts'
import { cursorList, sendList } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { failureMembers } from './failures.ts'
import { requireKnownCode } from './known-codes.ts'
import { NameOf, TextOrNull } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange, readZone } from './time-range.ts'

/** Failed answers, most of which are no events: counts by hour, token, route and code, with samples. */

export const RefusalsQuerySchema = Type.Object({
  ...failureMembers,
  route: NameOf('Only of this route, such as `POST /v1/chat/completions`.'),
})
type RefusalsQuery = Partial<Static<typeof RefusalsQuerySchema>>

const RefusalsSchema = Type.Object(
  {
    hour: Type.String({ description: 'RFC 3339: the hour of UTC in which they were answered.' }),
    tenant_id: Type.String(),
    user_id: Type.String(),
    token_id: Type.String({ description: 'The token, also where it is expired or disabled.' }),
    token_last_four: TextOrNull('Last four characters of the secret of the token.'),
    route: TextOrNull('Method and pattern of the route; null: of any route.'),
    code: TextOrNull('Why, in one word for all surfaces; null: for any reason.'),
    count: Type.Integer(),
    first_at: Type.String({ description: 'RFC 3339.' }),
    last_at: Type.String({ description: 'RFC 3339.' }),
    samples: Type.Array(
      Type.Object({
        request_id: Type.String({ description: '`x-request-id` of the answer.' }),
        param: TextOrNull('The member or parameter at fault, with `*` for a name that is unknown.'),
        why: TextOrNull(
          'Which limit, budget or balance refused it, with its figures; null for any other reason.',
        ),
        at: Type.String({ description: 'RFC 3339.' }),
      }),
      { description: 'The last five requests, newest first.' },
    ),
  },
  { named: 'Refusals' },
)
type RefusalsItem = Static<typeof RefusalsSchema>

const RefusalsAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(RefusalsSchema),
    next_cursor: NextCursor,
    sampled: Type.Literal(true, {
      description: 'Requests are not listed one by one, and a killed process loses some seconds.',
    }),
  }),
)

const columns = Object.keys(RefusalsSchema.properties) as readonly (keyof RefusalsItem)[]

const shownRefusals = (counted: OfToken<CountedRefusals>): RefusalsItem => ({
  hour: toTimestamp(counted.hourMs),
  tenant_id: counted.tenantId,
  user_id: counted.userId,
  token_id: counted.tokenId,
  token_last_four: counted.tokenLastFour ?? null,
  route: counted.route ?? null,
  code: counted.code ?? null,
  count: counted.count,
  first_at: toTimestamp(counted.firstMs),
  last_at: toTimestamp(counted.lastMs),
  samples: counted.samples.map(({ requestId, param, why, atMs }) => ({
    request_id: requestId,
    param: param ?? null,
    why: why ?? null,
    at: toTimestamp(atMs),
  })),
})

/** Counts of failed answers, the newest hour first: `refusals` of the query API. */
export async function readRefusals(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: RefusalsQuery,
) {
  const visible = visibleTo(principal)
  const listKey = listKeyOf(['refusals', visible], query)
  const after = fromCursor(query.cursor, listKey, isRefusalPlace)
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  const filter = {
    ...narrow(visible, asked),
    ...readTimeRange(query, clock.nowMs()),
    tokenId: query.token_id,
    route: query.route,
    code: query.code,
    requestId: query.request_id,
  }
  await requireKnownCode({ queries, clock }, principal, query)
  const list = cursorList(
    { listKey, after, limit: query.limit },
    (page) => queries.accounts.refusals(filter, page),
    shownRefusals,
    { sampled: true as const },
  )
  const { tenantId, fromMs, toMs } = filter
  const facts = { tenantId, fromMs, toMs, zone: readZone(query.tz), asOf: undefined }
  return { name: 'refusals', columns, ...list, facts }
}

/** Counts of failed answers, the newest hour first. */
export function refusalsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/refusals',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'listRefusals',
          summary: 'Count failed answers by hour, token, route and code, newest first',
          ok: RefusalsAnswerSchema,
          failures: listFailures,
          csv: true,
        }),
        querystring: RefusalsQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readRefusals(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
