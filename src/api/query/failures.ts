import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  type FailedRequest,
  failureStatuses,
  isFailurePlace,
} from '../../../projections/timeline/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import type { OfToken } from './account-reads.ts'
import { sendList, fileMembers } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { requireKnownCode } from './known-codes.ts'
import { factsOf, placeOf, positionedList } from './report-query.ts'
import { AsOf, Cursor, Decimal, Limit, NameOf, TextOrNull } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange, timeRangeMembers } from './time-range.ts'

/** Requests that ended without a result, as the log has them. */

/** Parameters that failures and refusals share. */
export const failureMembers = {
  ...timeRangeMembers,
  tenant_id: NameOf('Only of this tenant.'),
  user_id: NameOf('Only requests of this user.'),
  token_id: NameOf('Only requests with this token.'),
  code: NameOf('Only with this code.'),
  request_id: NameOf('Only of the request with this `x-request-id`.'),
  cursor: Cursor,
  limit: Limit,
  ...fileMembers,
} as const

export const failuresQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...failureMembers,
    surface: Type.Optional(Type.Enum([...surfaceNames])),
    model: NameOf('Only of this model, by its external name.'),
    channel_id: NameOf('Only where this channel was asked last; for tokens that see all tenants.'),
    status: Type.Optional(
      Type.Enum([...failureStatuses], { description: 'Only requests with this outcome.' }),
    ),
    as_of: Type.Optional(AsOf),
  })
type FailuresQuery = Partial<Static<ReturnType<typeof failuresQuerySchema>>>

const FailureSchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the call, or platform id of the task.' }),
    kind: Type.String({ description: '`call` or `task`.' }),
    status: Type.String({
      description:
        '`failed`; `refused` and `expired`: a task; `uncertain`: a task of which the provider has not confirmed that it exists.',
    }),
    at: Type.String({ description: 'RFC 3339: when the log recorded it.' }),
    tenant_id: Type.String(),
    user_id: Type.Union([Type.String(), Type.Null()]),
    token_id: Type.String(),
    token_last_four: TextOrNull('Last four characters of the secret of the token.'),
    model: Type.String(),
    surface: Type.String(),
    code: Type.String(),
    message: Type.String(),
    request_id: Type.String({ description: '`x-request-id` of the answer.' }),
    duration_ms: Type.Integer({ description: 'From the request to its failure.' }),
    count: Type.Integer({
      description: 'Refused calls of the token that this one stands for, itself included.',
    }),
    not_charged: Type.Union(
      [Type.Object({ currency: Type.String(), amount: Decimal }), Type.Null()],
      {
        description: 'What the provider may have done, at your prices: the operator bears it.',
      },
    ),
    channel_id: TextOrNull(
      'The channel that was asked last; for tokens that see all tenants, otherwise null.',
    ),
  },
  { named: 'FailedRequest' },
)
type FailureItem = Static<typeof FailureSchema>

const FailuresAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(FailureSchema),
    next_cursor: NextCursor,
    as_of: Type.String({
      description: 'Log position that the list is as of; its cursors keep it.',
    }),
  }),
)

const columns = Object.keys(FailureSchema.properties) as readonly (keyof FailureItem)[]

const shownFailure =
  (isOperator: boolean) =>
  (failure: OfToken<FailedRequest>): FailureItem => ({
    id: failure.sourceId,
    kind: failure.kind,
    status: failure.status,
    at: toTimestamp(failure.atMs),
    tenant_id: failure.tenantId,
    user_id: failure.userId ?? null,
    token_id: failure.tokenId,
    token_last_four: failure.tokenLastFour ?? null,
    model: failure.model,
    surface: failure.surface,
    code: failure.code,
    message: failure.message,
    request_id: failure.requestId,
    duration_ms: failure.durationMs,
    count: failure.count,
    not_charged: failure.notCharged ?? null,
    channel_id: isOperator ? failure.channelId : null,
  })

/** Failed requests, newest first: `failures` of the query API. */
export async function readFailures(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: FailuresQuery,
) {
  const visible = visibleTo(principal)
  const { asOf, ...place } = placeOf(['failures', visible], query, isFailurePlace)
  const { accounts } = queries
  if (query.channel_id !== undefined && visible.tenantId !== undefined)
    throw new DomainError('scope_denied', 'Only tokens that see all tenants may name a channel', {
      param: 'channel_id',
    })
  const filter = {
    ...narrow(visible, { tenantId: query.tenant_id, userId: query.user_id }),
    ...readTimeRange(query, clock.nowMs()),
    tokenId: query.token_id,
    model: query.model,
    channelId: query.channel_id,
    surface: query.surface,
    code: query.code,
    status: query.status,
    requestId: query.request_id,
    asOf: await accounts.failurePosition(toPosition(asOf)),
  }
  await requireKnownCode({ queries, clock }, principal, query)
  const list = positionedList(
    { ...place, limit: query.limit },
    { filter },
    (page) => accounts.failures(filter, page),
    shownFailure(visible.tenantId === undefined),
  )
  return { name: 'failures', columns, ...list, facts: factsOf({ filter }, query.tz) }
}

/** Failed requests of calls and tasks, newest first. */
export function failuresRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/failures',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'listFailures',
          summary: 'List requests without a result, newest first',
          ok: FailuresAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: failuresQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readFailures(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
