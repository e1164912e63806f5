import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { lineOrders } from '../../../projections/ledger/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { MonthMember, successOf } from '../kit/routes/account-surface.ts'
import { foreignCursor } from '../kit/routes/queries.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { RequestError } from '../kit/request-error.ts'
import {
  sendList,
  sendListOr,
  wholeList,
  type WrittenFile,
  lineFileMembers,
} from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { lineFailures, listFailures } from './envelope.ts'
import { toLine, withNames } from './ledger-lines.ts'
import { lineFile, type LineFormat, PARQUET } from './line-files.ts'
import {
  factsOf,
  placeOf,
  positionedList,
  readReport,
  type Report,
  reportMembers,
} from './report-query.ts'
import { AnsweredAsOf, Cursor, Limit, LinesAnswerSchema } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { groupMembers, Key, readUsage, sumColumns } from './usage.ts'
import { groupByMember } from './usage-keys.ts'

/**
 * These routes list the settled lines and sum them. `ledger/summary` has the sums of `usage`, and stays for programs
 * that read the value of the first key as `key`, whichever key they ask by. Both routes read `readUsage`, so that
 * they cannot differ; `usage` also has totals, and sums by day unless asked otherwise.
 */

/** The order of a page of lines; without it the newest are first. */
export const LineOrder = Type.Optional(
  Type.Enum([...lineOrders], {
    description:
      'The oldest first, or by amount, each currency by itself, the largest first with a `-`: at most 20,000 lines. Files have the newest line first.',
  }),
)

const linesQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({
    ...reportMembers(surfaceNames),
    ...lineFileMembers,
    period: Type.Optional({
      ...MonthMember,
      description: 'The lines of this closed month of an account, the late ones too.',
    }),
    sort: LineOrder,
    cursor: Cursor,
    limit: Limit,
  })

type LinesQuery = Partial<Static<ReturnType<typeof linesQuerySchema>>>

/** A closed month decides them. */
const decidedByPeriod = [
  'from',
  'to',
  'time_preset',
  'start_time',
  'end_time',
  'tz',
  'as_of',
  'since',
] as const

function invalid(param: string, message: string): RequestError {
  return new RequestError('parameter_invalid', message, param)
}

/** The bounds of the lines of a closed month. @throws RequestError, DomainError `scope_denied`, `period_not_found` */
async function readPeriod(
  { queries }: Pick<QueryServices, 'queries'>,
  principal: Principal,
  query: LinesQuery & { readonly period: string },
) {
  const { period: month, currency } = query
  for (const name of decidedByPeriod)
    if (query[name] !== undefined) throw invalid(name, `${name} cannot be combined with period`)
  if (query.format === 'focus')
    throw invalid(
      'period',
      'FOCUS has billing periods of its own: leave out period, and name from and to',
    )
  const asked = { tenantId: query.tenant_id, userId: undefined }
  const { tenantId } = narrow(visibleTo(principal), asked)
  if (tenantId === undefined) throw invalid('tenant_id', 'period needs the tenant of the account')
  if (currency === undefined) throw invalid('currency', 'period needs the currency of the account')
  try {
    return await queries.statements.boundsOf({ tenantId, currency, month })
  } catch (error) {
    if (!isDomainError(error, 'period_not_found')) throw error
    throw new DomainError(error.code, error.message, { ...error.details, param: 'period' })
  }
}

/** The report that a list of lines is of, and the zone of its days; `asOf` is the position of its cursor. */
async function reportOf(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  { period, ...query }: LinesQuery,
  asOf: string | undefined,
): Promise<{ readonly report: Report; readonly tz: string | undefined }> {
  if (period === undefined) {
    const asked = { ...query, ...(asOf !== undefined && { as_of: asOf }) }
    return { report: await readReport(services, principal, asked), tz: query.tz }
  }
  const { bounds, timeZone } = await readPeriod(services, principal, { ...query, period })
  const { fromMs, toMs, since, late } = bounds
  const position = String(bounds.asOf)
  // The month was void meanwhile, and is closed at another position.
  if (asOf !== undefined && asOf !== position) throw foreignCursor()
  const { filter } = await readReport(services, principal, { ...query, as_of: position })
  const lateAfter = late > 0 ? since : undefined
  const range = { fromMs, toMs }
  return { report: { range, filter: { ...filter, ...range, lateAfter } }, tz: timeZone }
}

/** Settled lines, newest first: `ledger/lines` of the query API. */
export async function readLines(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: LinesQuery,
) {
  const { accounts, reads, billing } = services.queries
  const { limit, format, sort: order } = query
  for (const name of ['cursor', 'limit'] as const)
    if (format === 'focus' && query[name] !== undefined)
      throw new RequestError(
        'parameter_invalid',
        `a FOCUS file has no pages: leave out ${name}`,
        name,
      )
  const { asOf, ...place } = placeOf(['lines', visibleTo(principal)], query)
  const { report, tz } = await reportOf(services, principal, query, asOf)
  const { filter } = report
  const facts = factsOf(report, tz)
  const list = positionedList(
    { ...place, limit },
    report,
    async (page) => withNames(accounts, await reads.listLines(filter, { ...page, order })),
    toLine,
  )
  const { after } = place
  const file = async (wanted: LineFormat, callerGone: AbortSignal): Promise<WrittenFile> => {
    if (order !== undefined)
      throw invalid('sort', 'files have the newest line first: leave out sort')
    if (wanted === 'parquet') {
      const { sizeBytes, parts } = await reads.parquet(filter, { after, limit }, callerGone)
      return { ...PARQUET, sizeBytes, pieces: parts }
    }
    return lineFile(
      reads.exports,
      { format: wanted, filter, after, limit, hasByteOrderMark: query.bom === 'true' },
      { ...billing, zone: facts.zone },
    )
  }
  return { page: list.page, facts, file }
}

function linesRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/lines',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listLedgerLines',
          summary: 'List settled lines, newest first',
          ok: LinesAnswerSchema,
          failures: lineFailures,
          csv: true,
          files: {
            'application/x-ndjson': 'A line of JSON for each line of the ledger.',
            [PARQUET.type]: 'Apache Parquet with exact decimals.',
          },
        }),
        querystring: linesQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readLines(services, principalOf(request), request.query)
      const name = request.query.format === 'focus' ? 'focus' : 'ledger-lines'
      return sendListOr(request, reply, request.query, { name, ...list })
    },
  )
}

export const summaryQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({ ...reportMembers(surfaceNames), group_by: groupByMember('sku') })

const SummaryAnswerSchema = successOf(
  Type.Object({
    group_by: Type.String(),
    as_of: AnsweredAsOf,
    items: Type.Array(
      Type.Object(
        {
          key: Type.Union([Type.String(), Type.Null()], {
            description: 'The value of the first key.',
          }),
          ...groupMembers,
        },
        { named: 'SummaryGroup', additionalProperties: Key, description: 'A group of usage.' },
      ),
    ),
  }),
)

type SummaryItem = Readonly<Record<string, string | number | null>>

/** Sums of lines, each with the value of its first key as `key`: `ledger/summary` of the query API. */
export async function readSummary(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<ReturnType<typeof summaryQuerySchema>>>,
) {
  const asked = query.group_by ?? 'sku'
  const usage = await readUsage(services, principal, { ...query, group_by: asked })
  const { items, as_of } = await usage.page()
  const [first = ''] = usage.columns
  const others = usage.columns.filter((name) => !sumColumns.some((sum) => sum === name))
  const page = {
    group_by: asked,
    items: items.map((item): SummaryItem => ({ key: item[first] ?? null, ...item })),
    as_of,
  }
  return {
    name: usage.name.replace('usage', 'ledger'),
    facts: usage.facts,
    columns: ['key', ...sumColumns, ...others],
    ...wholeList(page),
  }
}

/** Usage with `key`, by SKU unless other keys are asked for. */
function summaryRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/summary',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'summariseLedger',
          summary: 'Get settled totals by one or two keys and currency',
          ok: SummaryAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: summaryQuerySchema(Object.keys(services.http.endpoints)),
      },
    },
    async (request, reply) => {
      const list = await readSummary(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}

export function ledgerRoutes(instance: FastifyInstance, services: QueryServices): void {
  linesRoute(instance, services)
  summaryRoute(instance, services)
}
