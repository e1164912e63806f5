import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { timeKeys, type UsageGroup, type UsageKey } from '../../../projections/ledger/query.ts'
import { userKey } from '../../../projections/access/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { inTurns, mapped } from '../../kernel/turns.ts'
import type { AccountReads } from './account-reads.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { inFileName } from '../kit/answers/files.ts'
import { RequestError } from '../kit/request-error.ts'
import { sendList, wholeList } from './answers.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { isTimeKey, periodsOf } from './periods.ts'
import { factsOf, readReport, reportMembers, requireDeclared } from './report-query.ts'
import { AnsweredAsOf, sumMembers, totalMembers } from './schemas.ts'
import type { QueryServices } from './services.ts'
import { shownRange, ShownRangeMembers } from './time-range.ts'

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

function invalid(param: string, message: string): RequestError {
  return new RequestError('parameter_invalid', message, param)
}

/** Keys of the lines, and their names in answers. */
const keyNames = {
  tenant: 'tenant_id',
  user: 'user_id',
  token: 'token_id',
  model: 'model',
  sku: 'sku',
  surface: 'surface',
  hour: 'hour',
  day: 'day',
  month: 'month',
} as const satisfies Partial<Record<UsageKey, string>>

const TAG = 'tag:'
const all = [...Object.keys(keyNames), `${TAG}<key>`].join(', ')
const groups = [...Object.keys(keyNames), `${TAG}[^,]{1,64}`].join('|')

/** The keys of a report, of which `usual` is the default. */
export const groupByMember = (usual: UsageKey) =>
  Type.Optional(
    Type.String({
      maxLength: 140,
      documented: {
        type: 'string',
        pattern: `^(?:${groups})(?:,(?:${groups}))?$`,
        description: `One or two of ${all}, with a comma between; ${usual} by default. Of hour, day and month only one.`,
        examples: ['day,model'],
      },
    }),
  )

export const usageQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({ ...reportMembers(surfaceNames), group_by: groupByMember('day') })

export const Key = Type.Optional(Type.Union([Type.String(), Type.Null()]))

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
  totals: Type.Array(Type.Object(totalMembers, { named: 'UsageTotal' }), {
    description: 'Totals of all items.',
  }),
  items: Type.Array(
    Type.Object(groupMembers, {
      named: 'UsageGroup',
      additionalProperties: Key,
      description:
        'Each has the members of its keys, and the names of ids; a tag is `tag:<key>`, null where a request had none.',
    }),
  ),
})

const UsageAnswerSchema = successOf(UsageSchema)

function isKey(name: string): name is UsageKey {
  return Object.hasOwn(keyNames, name) || (name.startsWith(TAG) && name.length > TAG.length)
}

const nameOf = (key: UsageKey): string =>
  Object.hasOwn(keyNames, key) ? keyNames[key as keyof typeof keyNames] : key

function readGroups(text = 'day'): readonly UsageKey[] {
  const names = text.split(',')
  const keys = names.filter(isKey)
  if (keys.length !== names.length || keys.length > 2 || new Set(keys).size !== keys.length)
    throw invalid('group_by', `group_by must be one or two of ${all}, with a comma between`)
  if (keys.filter(isTimeKey).length > 1)
    throw invalid('group_by', `group_by takes only one of ${timeKeys.join(', ')}`)
  return keys
}

/** The amounts and numbers of a group, where numbers of requests are known as such or null. */
function shownSums(
  { unit, quantity, requests, ...rest }: Omit<UsageGroup, 'keys'>,
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
  { keys, ...group }: UsageGroup,
  groupBy: readonly UsageKey[],
  isOfParts: boolean,
): Item {
  const named: Readonly<Record<string, string | null>> = Object.fromEntries(
    groupBy.map((key) => [nameOf(key), keys[key] ?? null]),
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

/** The sums of all groups of one currency. */
interface Total {
  requests: number
  lines: number
  amountPico: bigint
  refundedPico: bigint
}

function* totalsOf(found: readonly UsageGroup[], isOfParts: boolean) {
  const totals = new Map<string, Total>()
  yield* mapped(found, ({ currency, requests, lines, amount, refunded }) => {
    const of = totals.get(currency) ?? { requests: 0, lines: 0, amountPico: 0n, refundedPico: 0n }
    of.requests += requests
    of.lines += lines
    of.amountPico += parseAmount(amount)
    of.refundedPico += parseAmount(refunded)
    totals.set(currency, of)
  })
  const byCurrency = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return byCurrency.map(([currency, { requests, lines, amountPico, refundedPico }]) => ({
    currency,
    requests: isOfParts ? null : requests,
    lines,
    amount: formatAmount(amountPico),
    refunded: formatAmount(refundedPico),
    net: formatAmount(amountPico - refundedPico),
  }))
}

/** Usage by one or two keys, within what the principal may see: `usage` of the query API. */
export async function readUsage(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<ReturnType<typeof usageQuerySchema>>>,
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
  const bounded = await periodsOf(accounts, filter, groupBy.find(isTimeKey), query.tz)
  const found = await accounts.usage({
    filter: { ...filter, ...bounded.range },
    groupBy,
    periods: bounded.periods,
    withRefunds: true,
  })
  const isOfParts = filter.sku !== undefined
  const hasParts = isOfParts || groupBy.includes('sku')
  const sums = await inTurns(mapped(found, (group) => toItem(group, groupBy, hasParts)))
  const { items, columns: names } = await withNames(accounts, filter.tenantId, groupBy, sums)
  const keys = groupBy.map(inFileName)
  const page = {
    group_by: [...groupBy],
    tz: query.tz ?? 'UTC',
    ...shownRange(range),
    as_of: String(filter.asOf),
    totals: await inTurns(totalsOf(found, isOfParts)),
    items,
  }
  return {
    name: `usage-by-${keys.join('-')}`,
    columns: [...groupBy.map(nameOf), ...sumColumns, ...names],
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
          summary: 'Get usage by tenant, user, token, model, SKU, surface, time or tag',
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
