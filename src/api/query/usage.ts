import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { UsageGroup, UsageKey } from '../../../projections/ledger/query.ts'
import { userKey } from '../../../projections/access/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { inTurns, mapped } from '../../kernel/turns.ts'
import type { AccountReads } from './account-reads.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { inFileName } from '../kit/answers/files.ts'
import { sendList, wholeList } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { isTimeKey, periodsOf } from './periods.ts'
import { factsOf, readReport, reportMembers, requireDeclared } from './report-query.ts'
import { AnsweredAsOf, sumMembers, totalMembers } from './schemas.ts'
import { groupByMember, keyNames, memberOfKey, readGroups, TAG } from './usage-keys.ts'
import { type Compared, compared, comparedColumns, rangeBeforeOf } from './usage-before.ts'
import { firstOf, ordered, orderMembers, readSort } from './usage-order.ts'
import { totalsOf } from './usage-totals.ts'
import type { QueryServices } from './services.ts'
import { readZone, shownRange, ShownRangeMembers, type TimeRange } from './time-range.ts'

/** Usage by keys: the sums behind every report. */

/** Columns of the sums in a table; what came later stands last. */
export const sumColumns = [
  'currency',
  'unit',
  'quantity',
  'amount',
  'lines',
  'requests',
  'refunded',
  'net',
] as const

/** Parameters of usage that the sums of lines do not have. */
const comparedMembers = {
  ...orderMembers,
  before: Type.Optional(
    Type.Enum(['true', 'false'], {
      description:
        'Whether each group has `net_before`, its net sum of the time before, and `change`; not with hour, day and month.',
    }),
  ),
}

export const usageQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    group_by: groupByMember('day'),
    ...comparedMembers,
  })

export type UsageQuery = Partial<Static<ReturnType<typeof usageQuerySchema>>>

export const Key = Type.Optional(Type.Union([Type.String(), Type.Null()]))

const OfBefore = (description: string) =>
  Type.Optional(Type.String({ description: `With \`before\`: ${description}` }))

/** Members of groups and totals that are compared with the time before. */
const changeMembers = {
  net_before: OfBefore('the net sum of the time before.'),
  change: OfBefore('`net` less `net_before`.'),
}

/** The members of a group: those of its keys, its sums, and the names of ids. */
export const groupMembers = {
  ...Object.fromEntries(Object.values(keyNames).map((name) => [name, Key])),
  ...sumMembers,
  tenant_name: Key,
  user_name: Key,
  token_name: Key,
}

export const UsageSchema = Type.Object({
  group_by: Type.Array(Type.String()),
  tz: Type.String(),
  ...ShownRangeMembers,
  as_of: AnsweredAsOf,
  before: Type.Optional(
    Type.Object(ShownRangeMembers, {
      description: 'With `before`: the time that groups are compared with.',
    }),
  ),
  groups: Type.Integer({ description: 'Number of all groups, those behind `top` included.' }),
  totals: Type.Array(Type.Object({ ...totalMembers, ...changeMembers }, { named: 'UsageTotal' }), {
    description: 'Totals of all groups.',
  }),
  items: Type.Array(
    Type.Object(
      { ...groupMembers, ...changeMembers },
      {
        named: 'UsageGroup',
        additionalProperties: Key,
        description:
          'Each has the members of its keys, and the names of ids; a tag is `tag:<key>`; a tag or an end user is null where a request had none.',
      },
    ),
  ),
})

const UsageAnswerSchema = successOf(UsageSchema)

/** The amounts and numbers of a group, where numbers of requests are known as such or null. */
function shownSums(
  { unit, quantity, requests, ...rest }: Omit<UsageGroup, 'keys'> & Partial<Compared>,
  isOfParts: boolean,
) {
  return {
    ...rest,
    requests: isOfParts ? null : requests,
    unit: unit ?? null,
    quantity: quantity ?? null,
  }
}

type Item = Readonly<Record<string, string | number | null>> & ReturnType<typeof shownSums>

function toItem(
  { keys, ...group }: UsageGroup & Partial<Compared>,
  groupBy: readonly UsageKey[],
  isOfParts: boolean,
): Item {
  const named: Readonly<Record<string, string | null>> = Object.fromEntries(
    groupBy.map((key) => [memberOfKey(key), keys[key] ?? null]),
  )
  return { ...named, ...shownSums(group, isOfParts) }
}

/** Keys that are ids of something with a name. */
const named = { tenant: 'tenants', user: 'users', token: 'tokens' } as const

/** Adds the names of ids to a report; a name that is not known is null. */
async function withNames(
  accounts: Pick<AccountReads, 'names'>,
  tenantId: string | undefined,
  groupBy: readonly UsageKey[],
  items: readonly Item[],
): Promise<{ readonly items: readonly Item[]; readonly columns: readonly string[] }> {
  const keys = groupBy.filter((key) => key === 'tenant' || key === 'user' || key === 'token')
  if (keys.length === 0) return { items, columns: [] }
  const idIn = (item: Item, key: keyof typeof named): string => String(item[keyNames[key]])
  const idsOf = (key: keyof typeof named): readonly string[] =>
    keys.includes(key) ? [...new Set(items.map((item) => idIn(item, key)))] : []
  /** A group of all tenants does not say whose user it is. */
  const userIn = (item: Item) => {
    const ofTenant = keys.includes('tenant') ? idIn(item, 'tenant') : tenantId
    return ofTenant === undefined ? [] : [{ tenantId: ofTenant, userId: idIn(item, 'user') }]
  }
  const names = await accounts.names({
    tenants: idsOf('tenant'),
    users: keys.includes('user') ? items.flatMap(userIn) : [],
    tokens: idsOf('token'),
  })
  const nameIn = (item: Item, key: keyof typeof named): string | null => {
    const id = key === 'user' ? userIn(item).map(userKey)[0] : idIn(item, key)
    return (id === undefined ? undefined : names[named[key]].get(id)) ?? null
  }
  const withNamesOf = (item: Item): Item => ({
    ...item,
    ...Object.fromEntries(keys.map((key) => [`${key}_name`, nameIn(item, key)])),
  })
  return {
    items: await inTurns(mapped(items, withNamesOf)),
    columns: keys.map((key) => `${key}_name`),
  }
}

/** Usage by one or two keys, within what the principal may see: `usage` of the query API. */
export async function readUsage(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: UsageQuery,
) {
  const { accounts } = services.queries
  const groupBy = readGroups(query.group_by)
  const report = await readReport(services, principal, query)
  const { filter, range } = report
  const tags = groupBy.filter((key) => key.startsWith(TAG))
  await requireDeclared(
    services.queries,
    filter.tenantId,
    tags.map((key) => ({ name: key.slice(TAG.length), param: 'group_by' })),
  )
  const isCompared = query.before === 'true'
  const columns = [
    ...groupBy.map(memberOfKey),
    ...sumColumns,
    ...(isCompared ? comparedColumns : []),
  ]
  const order = readSort(query.sort, columns)
  const earlier = isCompared
    ? rangeBeforeOf(range, groupBy, readZone(query.tz), services.clock.nowMs())
    : undefined
  const bounded = await periodsOf(accounts, filter, groupBy.find(isTimeKey), query.tz)
  const read = (of: TimeRange) =>
    accounts.usage({
      filter: { ...filter, ...of },
      groupBy,
      periods: bounded.periods,
      withRefunds: true,
    })
  const now = await read(bounded.range)
  const found =
    earlier === undefined ? now : await inTurns(compared(now, await read(earlier), groupBy))
  const isOfParts = filter.sku !== undefined
  const hasParts = isOfParts || groupBy.includes('sku')
  const sums = await inTurns(mapped(found, (group) => toItem(group, groupBy, hasParts)))
  const shown = firstOf(await inTurns(ordered(sums, order)), query.top)
  const { items, columns: names } = await withNames(accounts, filter.tenantId, groupBy, shown)
  const keys = groupBy.map(inFileName)
  const page = {
    group_by: [...groupBy],
    tz: query.tz ?? 'UTC',
    ...shownRange(range),
    as_of: String(filter.asOf),
    ...(earlier && { before: shownRange(earlier) }),
    groups: found.length,
    totals: await inTurns(totalsOf(found, isOfParts)),
    items,
  }
  return {
    name: `usage-by-${keys.join('-')}`,
    columns: [...columns, ...names],
    facts: factsOf(report, query.tz),
    ...wholeList(page),
  }
}

/** Usage grouped by one or two keys, including days of any zone. */
export function usageRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/usage',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'summariseUsage',
          summary: 'Get usage by tenant, user, token, model, SKU, surface, time, end user or tag',
          ok: UsageAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: usageQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readUsage(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
