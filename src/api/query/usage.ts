import { toTimestamp } from '../../kernel/clock.ts'
import { isDate } from '../../kernel/read-time.ts'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type {
  LedgerFilter,
  NamedDay,
  UsageGroup,
  UsageKey,
} from '../../../projections/ledger/query.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { successOf } from '../kit/account-surface.ts'
import { principalOf } from '../kit/authenticate.ts'
import { RequestError } from '../kit/request-error.ts'
import { boundOf } from '../kit/queries.ts'
import type { AccountReads } from './account-reads.ts'
import { onePage, sendList } from './answers.ts'
import { toPosition } from './as-of.ts'
import { describe } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { AnsweredAsOf, AsOf, Decimal, Format, Name, Quantity, Time } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import {
  readTimeRange,
  readZone,
  shownRange,
  ShownRangeMembers,
  type TimeRange,
  timeRangeMembers,
} from './time-range.ts'

/** Days of one answer: ten years. */
const MAX_DAYS = 3_660

/** The keys by which usage can be grouped, and their names in answers. */
const keyNames = {
  day: 'day',
  model: 'model',
  token: 'token_id',
  user: 'user_id',
  sku: 'sku',
  surface: 'surface',
} as const satisfies Partial<Record<UsageKey, string>>
type Key = keyof typeof keyNames

const groups = Object.keys(keyNames).join('|')

const usageQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...timeRangeMembers,
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    group_by: Type.Optional(
      Type.String({
        maxLength: 40,
        documented: {
          type: 'string',
          pattern: `^(?:${groups})(?:,(?:${groups}))?$`,
          description: `One or two of ${Object.keys(keyNames).join(', ')}, with a comma between; day by default.`,
          examples: ['day,model'],
        },
      }),
    ),
    tenant_id: Type.Optional(Name),
    user_id: Type.Optional(Name),
    token_id: Type.Optional(Name),
    model: Type.Optional(Name),
    sku: Type.Optional(Name),
    surface: Type.Optional(Type.Enum([...surfaceNames])),
    currency: Type.Optional(Type.Enum(['CNY', 'USD'])),
    as_of: Type.Optional(AsOf),
    format: Format,
  })
type UsageQuery = Static<ReturnType<typeof usageQuerySchema>>

const totals = {
  currency: Type.String({ description: 'Currencies are never added up.' }),
  amount: Decimal,
  lines: Type.Integer(),
}

const UsageAnswerSchema = successOf(
  Type.Object({
    group_by: Type.Array(Type.String()),
    tz: Type.String(),
    ...ShownRangeMembers,
    as_of: AnsweredAsOf,
    totals: Type.Array(Type.Object(totals), { description: 'Totals of all items.' }),
    items: Type.Array(
      Type.Object({
        day: Type.Optional(Type.String({ description: 'Day in the requested time zone.' })),
        model: Type.Optional(Type.String()),
        token_id: Type.Optional(Type.String()),
        user_id: Type.Optional(Type.String()),
        sku: Type.Optional(Type.String()),
        surface: Type.Optional(Type.String()),
        ...totals,
        unit: Type.Union([Type.String(), Type.Null()]),
        quantity: Type.Union([Quantity, Type.Null()], {
          description: 'Null where the units differ.',
        }),
      }),
    ),
  }),
)

function invalid(param: string, message: string): RequestError {
  return new RequestError('parameter_invalid', message, param)
}

function isKey(name: string): name is Key {
  return Object.hasOwn(keyNames, name)
}

function readGroups(text = 'day'): readonly Key[] {
  const names = text.split(',')
  const keys = names.filter(isKey)
  const all = Object.keys(keyNames).join(', ')
  if (keys.length !== names.length || keys.length > 2 || new Set(keys).size !== keys.length)
    throw invalid('group_by', `group_by must be one or two of ${all}, with a comma between`)
  return keys
}

/** Reads a range by a preset, or by `from` and `to`, where a date means a day of the zone. */
function readRange(query: UsageQuery, nowMs: number): TimeRange {
  const { from, to } = query
  if (from === undefined && to === undefined) return readTimeRange(query, nowMs)
  if (query.time_preset !== undefined)
    throw invalid('time_preset', 'time_preset cannot be combined with from or to')
  readTimeRange(query, nowMs)
  const zone = readZone(query.tz)
  const read = (text: string | undefined, param: string): number | undefined => {
    const unixMs = boundOf(text, param)
    if (unixMs === undefined || text === undefined || !isDate(text)) return unixMs
    return zone.startOf(toTimestamp(unixMs).slice(0, text.length))
  }
  const [fromMs, toMs] = [read(from, 'from'), read(to, 'to')]
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw invalid('from', 'from must not be later than to')
  return { fromMs, toMs }
}

/**
 * Totals of the days of a zone need both ends: if an end was not requested, that of the existing
 * usage is used.
 */
async function days(
  accounts: AccountReads,
  filter: LedgerFilter,
  tz: string | undefined,
): Promise<{ readonly range: TimeRange; readonly days: readonly NamedDay[] | undefined }> {
  const asked = { fromMs: filter.fromMs, toMs: filter.toMs }
  if (tz === undefined) return { range: asked, days: undefined }
  const ends =
    asked.fromMs === undefined || asked.toMs === undefined
      ? await accounts.usageExtent(filter.tenantId)
      : undefined
  const [begins, end] = [asked.fromMs ?? ends?.fromMs, asked.toMs ?? ends?.toMs]
  // There are no settlements at all.
  if (begins === undefined || end === undefined) return { range: asked, days: undefined }
  const fromMs = begins
  const toMs = Math.max(end, fromMs)
  if (toMs - fromMs > MAX_DAYS * 86_400_000)
    throw invalid('group_by', `more than ${MAX_DAYS} days: narrow the range`)
  const found = readZone(tz).daysBetween(fromMs, toMs)
  // An empty range has no usage and no days.
  return { range: { fromMs, toMs }, days: found.length === 0 ? undefined : found }
}

function toItem({ keys, unit, quantity, ...rest }: UsageGroup, groupBy: readonly Key[]) {
  const named: Partial<Record<(typeof keyNames)[Key], string>> = Object.fromEntries(
    groupBy.map((key) => [keyNames[key], keys[key] ?? '']),
  )
  return { ...named, ...rest, unit: unit ?? null, quantity: quantity ?? null }
}

function totalsOf(groups: readonly UsageGroup[]) {
  const sums = new Map<string, { pico: bigint; lines: number }>()
  for (const { currency, amount, lines } of groups) {
    const sum = sums.get(currency) ?? { pico: 0n, lines: 0 }
    sums.set(currency, { pico: sum.pico + parseAmount(amount), lines: sum.lines + lines })
  }
  return [...sums]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, { pico, lines }]) => ({ currency, amount: formatAmount(pico), lines }))
}

/** Usage grouped by one or two keys, including days of any zone. */
export function usageRoute(instance: FastifyInstance, services: QueryServices): void {
  const {
    clock,
    queries: { accounts, reads },
  } = services
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/usage',
    {
      schema: {
        ...describe({
          operationId: 'summariseUsage',
          summary: 'Get usage by day, model, token, user, SKU or surface',
          ok: UsageAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: usageQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const { query } = request
      const groupBy = readGroups(query.group_by)
      const range = readRange(query, clock.nowMs())
      const asked = { tenantId: query.tenant_id, userId: query.user_id }
      const scope = narrow(visibleTo(principalOf(request)), asked)
      const asOf = await reads.ledgerPosition(toPosition(query.as_of))
      const { model, sku, surface, currency, token_id: tokenId } = query
      const filter = { ...scope, ...range, asOf, model, sku, surface, currency, tokenId }
      const zone = groupBy.includes('day') ? query.tz : undefined
      const bounded = await days(accounts, filter, zone)
      const groups = await accounts.usage({
        filter: { ...filter, ...bounded.range },
        groupBy,
        days: bounded.days,
      })
      const items = groups.map((group) => toItem(group, groupBy))
      const named = groupBy.map((key) => keyNames[key])
      return sendList(request, reply, query.format, {
        name: `usage-by-${groupBy.join('-')}`,
        columns: [...named, 'currency', 'unit', 'quantity', 'amount', 'lines'],
        page: () =>
          Promise.resolve({
            group_by: [...groupBy],
            tz: query.tz ?? 'UTC',
            ...shownRange(range),
            as_of: String(asOf),
            totals: totalsOf(groups),
            items,
          }),
        rows: () => onePage(items),
      })
    },
  )
}
