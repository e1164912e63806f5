import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { isLifePlace, lifeStates } from '../../../../projections/timeline/query.ts'
import type { Principal } from '../../../app/access/principal.ts'
import type { ListedLife } from '../../../app/support/lives.ts'
import { billedLifeKinds } from '../../../domain/lives.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { successOf } from '../../kit/routes/account-surface.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { NextCursor } from '../../kit/routes/queries.ts'
import { RequestError } from '../../kit/request-error.ts'
import { sendList, fileMembers } from '../../kit/answers/lists.ts'
import { toPosition } from '../as-of.ts'
import { describeQuery } from '../documentation.ts'
import { listFailures } from '../envelope.ts'
import { factsOf, placeOf, positionedList } from '../report-query.ts'
import {
  AsOf,
  Cursor,
  Decimal,
  labelMembers,
  Limit,
  NameOf,
  Since,
  TextOrNull,
} from '../schemas.ts'
import { narrow, visibleTo } from '../scope.ts'
import type { QueryServices } from '../services.ts'
import { readTimeRange, timeRangeMembers } from '../time-range.ts'

/** The history of a tenant: its calls and tasks, one row each. */

export const LivesQuerySchema = Type.Object({
  ...timeRangeMembers,
  tenant_id: NameOf('The tenant; tokens that see all tenants must name one.'),
  user_id: NameOf('Only requests of this user.'),
  token_id: NameOf('Only requests with this token.'),
  type: Type.Optional(
    Type.Enum([...billedLifeKinds], { description: 'Only tasks, or only calls; both by default.' }),
  ),
  model: NameOf('Only of this model, by its external name.'),
  state: Type.Optional(
    Type.Enum([...lifeStates], { description: 'Only lives that stand so, as in their receipts.' }),
  ),
  code: NameOf('Only lives that failed with this code.'),
  since: Type.Optional({
    ...Since,
    description:
      'A log position: only lives to which something happened after it, such as `as_of` of the list before.',
  }),
  as_of: Type.Optional(AsOf),
  cursor: Cursor,
  limit: Limit,
  ...fileMembers,
})
type LivesQuery = Partial<Static<typeof LivesQuerySchema>>

const ListedLifeSchema = Type.Object(
  {
    id: Type.String({ description: "The gateway's id, of which `lives/{id}` shows all." }),
    kind: Type.Enum([...billedLifeKinds]),
    at: Type.String({ description: 'RFC 3339: when the log recorded its beginning.' }),
    tenant_id: Type.String(),
    user_id: TextOrNull('The user of the request.'),
    token_id: Type.String(),
    model: Type.String(),
    request_id: Type.String({ description: '`x-request-id` of the answer.' }),
    state: Type.String({ description: 'As in its receipt.' }),
    last_step: Type.String({ description: 'Title of its last step.' }),
    last_at: Type.String({ description: 'RFC 3339: when the log recorded that step.' }),
    duration_ms: Type.Union([Type.Integer(), Type.Null()], {
      description: 'From the request to its end; null while it has not ended.',
    }),
    currency: TextOrNull('Currency of the amounts; null for a call that failed.'),
    held: Decimal,
    charged: Type.String({
      description: 'Exact decimal; later refunds are in its life.',
      examples: ['0.0462'],
    }),
    ...labelMembers,
  },
  { named: 'ListedLife' },
)
type ShownLife = Static<typeof ListedLifeSchema>

const LivesAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(ListedLifeSchema),
    next_cursor: NextCursor,
    as_of: Type.String({
      description: 'Log position that the list is as of; its cursors keep it.',
    }),
  }),
)

const columns = Object.keys(ListedLifeSchema.properties) as readonly (keyof ShownLife)[]

const shownLife = (life: ListedLife): ShownLife => ({
  id: life.id,
  kind: life.kind,
  at: toTimestamp(life.atMs),
  tenant_id: life.tenantId,
  user_id: life.userId ?? null,
  token_id: life.tokenId,
  model: life.model,
  request_id: life.requestId,
  state: life.state,
  last_step: life.lastStep,
  last_at: toTimestamp(life.lastAtMs),
  duration_ms: life.durationMs ?? null,
  currency: life.currency ?? null,
  held: life.held,
  charged: life.charged,
  tags: life.tags ?? null,
  end_user: life.endUser ?? null,
})

/** Calls and tasks of a tenant, the newest first: `lives` of the query API. */
export async function readLives(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: LivesQuery,
) {
  const visible = visibleTo(principal)
  const { asOf, ...place } = placeOf(['lives', visible], query, isLifePlace)
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  const { tenantId, userIds } = narrow(visible, asked)
  if (tenantId === undefined)
    throw new RequestError('parameter_invalid', 'name the tenant of the lives', 'tenant_id')
  const { accounts } = queries
  const filter = {
    tenantId,
    userIds,
    ...readTimeRange(query, clock.nowMs()),
    tokenId: query.token_id,
    kinds: query.type === undefined ? billedLifeKinds : [query.type],
    model: query.model,
    state: query.state,
    code: query.code,
    since: toPosition(query.since),
    asOf: await accounts.failurePosition(toPosition(asOf)),
  }
  const list = positionedList(
    { ...place, limit: query.limit },
    { filter },
    (page) => accounts.lives(filter, page),
    shownLife,
  )
  return { name: 'lives', columns, ...list, facts: factsOf({ filter }, query.tz) }
}

/** Calls and tasks of a tenant, the newest first. */
export function livesRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/lives',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'listLives',
          summary: 'List the calls and tasks of a tenant, newest first, with how each stands',
          ok: LivesAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: LivesQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readLives(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
