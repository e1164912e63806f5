import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { type Speed, type SpeedGroup, speedGroups } from '../../../projections/timeline/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { sendList, wholeList, fileMembers } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { factsOf } from './report-query.ts'
import { AsOf, NameOf } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readRecentRange, readZone, timeRangeMembers } from './time-range.ts'

/** Speed and failures over time: how many requests were answered and failed, and how long the answered ones took. */

/** Hours of the longest time; more groups than models and channels of one gateway. */
const MAX_GROUPS = 1_000

export const speedQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...timeRangeMembers,
    tenant_id: NameOf('Only of this tenant.'),
    user_id: NameOf('Only requests of this user.'),
    model: NameOf('Only of this model, by its external name.'),
    surface: Type.Optional(Type.Enum([...surfaceNames])),
    channel_id: NameOf('Only of this channel; for tokens that see all tenants.'),
    group_by: Type.Optional(
      Type.Enum([...speedGroups], {
        description:
          '`model` by default; `channel` is for tokens that see all tenants. Hours and days are of `tz`.',
      }),
    ),
    as_of: Type.Optional(AsOf),
    ...fileMembers,
  })
type SpeedQuery = Partial<Static<ReturnType<typeof speedQuerySchema>>>

const Milliseconds = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description })

const speedMembers = {
  requests: Type.Integer({ description: '`answered` and `failed` together.' }),
  answered: Type.Integer({ description: 'Requests with a result.' }),
  failed: Type.Integer({ description: 'Requests without a result; refused ones are not counted.' }),
  error_rate: Type.Number({ description: '`failed` of `requests`, from 0 to 1.' }),
  median_ms: Milliseconds('Half of the answered requests took no longer; null: none was answered.'),
  p95_ms: Milliseconds('95 % of the answered requests took no longer.'),
  first_byte_median_ms: Milliseconds(
    'Half of the answered streams gave their first byte no later; null: no stream was answered.',
  ),
  first_byte_p95_ms: Milliseconds('95 % of the answered streams gave their first byte no later.'),
}

const SpeedSchema = Type.Object(
  {
    key: Type.String({
      description: 'The model, surface or channel; of hours and days the beginning, as RFC 3339.',
    }),
    ...speedMembers,
  },
  { named: 'Speed' },
)

const SpeedAnswerSchema = successOf(
  Type.Object({
    group_by: Type.Enum([...speedGroups]),
    from: Type.String({ description: 'RFC 3339, inclusive: requests that ended from then on.' }),
    to: Type.String({ description: 'RFC 3339, exclusive.' }),
    as_of: Type.String({ description: 'Log position that the answer is as of.' }),
    one_of: Type.Integer({
      description:
        'One of so many answered requests was read: 1 is all. `answered` is estimated if it is more; `failed` never is.',
    }),
    total: Type.Object(speedMembers, { named: 'SpeedTotal' }),
    items: Type.Array(SpeedSchema),
  }),
)

const columns = Object.keys(SpeedSchema.properties) as readonly (keyof Static<typeof SpeedSchema>)[]

function figuresOf(speed: Speed) {
  const { answered, failed, medianMs, p95Ms } = speed
  const requests = answered + failed
  return {
    requests,
    answered,
    failed,
    error_rate: requests === 0 ? 0 : Math.round((failed / requests) * 1e6) / 1e6,
    median_ms: medianMs ?? null,
    p95_ms: p95Ms ?? null,
    first_byte_median_ms: speed.firstByteMedianMs ?? null,
    first_byte_p95_ms: speed.firstByteP95Ms ?? null,
  }
}

const keyOf = ({ key = '' }: Speed, group: SpeedGroup): string =>
  group === 'hour' || group === 'day' ? toTimestamp(Number(key)) : key

/**
 * Requests, failures and durations in several groupings, whose requests are read once; `groupsFor` names the groupings
 * of a time.
 */
export async function readSpeeds<Groups extends readonly SpeedGroup[]>(
  { queries: { accounts }, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Omit<SpeedQuery, 'group_by'>,
  groupsFor: (range: ReturnType<typeof readRecentRange>) => Groups,
) {
  const visible = visibleTo(principal)
  const { channel_id: channelId, tz } = query
  const range = readRecentRange(query, clock.nowMs())
  const asked = groupsFor(range)
  if ((channelId !== undefined || asked.includes('channel')) && visible.tenantId !== undefined)
    throw new DomainError('scope_denied', 'Only tokens that see all tenants may ask for channels', {
      param: channelId === undefined ? 'group_by' : 'channel_id',
    })
  readZone(tz)
  const filter = {
    ...narrow(visible, { tenantId: query.tenant_id, userId: query.user_id }),
    ...range,
    model: query.model,
    surface: query.surface,
    channelId,
    asOf: await accounts.failurePosition(toPosition(query.as_of)),
  }
  const by = { groups: new Set(asked), zone: tz ?? 'UTC', limit: MAX_GROUPS }
  const { groups, total, step } = await accounts.speed(filter, by)
  const listOf = (group: SpeedGroup) => ({
    name: `speed-by-${group}`,
    columns,
    ...wholeList({
      group_by: group,
      from: toTimestamp(filter.fromMs),
      to: toTimestamp(filter.toMs),
      as_of: String(filter.asOf),
      one_of: step,
      total: figuresOf(total),
      items: (groups.get(group) ?? []).map((one) => ({
        key: keyOf(one, group),
        ...figuresOf(one),
      })),
    }),
    facts: factsOf({ filter }, tz),
  })
  return asked.map(listOf) as { readonly [N in keyof Groups]: ReturnType<typeof listOf> }
}

/** Requests, failures and durations by groups: `speed` of the query API. */
export async function readSpeed(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  { group_by: group = 'model', ...query }: SpeedQuery,
) {
  const [list] = await readSpeeds(services, principal, query, () => [group] as const)
  return list
}

/** Requests, failures and durations by model, surface, channel, hour or day. */
export function speedRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/speed',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'getSpeed',
          summary: 'Get requests, failures and durations by model, surface, channel or time',
          ok: SpeedAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: speedQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readSpeed(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
