import { type Quantity, toQuantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import {
  conjunction,
  factConditions,
  lineConditions,
  Parameters,
  type LedgerFilter,
} from './filter.ts'

export type LedgerGrouping = 'sku' | 'day' | 'model' | 'tenant'

/** Settled lines of one key and currency; currencies are never added. */
export interface LedgerGroup {
  readonly key: string
  readonly currency: string
  /** What the quantity counts; undefined where the lines count different things. */
  readonly unit: string | undefined
  readonly quantity: Quantity | undefined
  /** Exact decimal. */
  readonly amount: string
  readonly lines: number
}

const DAY_MS = 86_400_000

/** Group keys as SQL; a day is of UTC. */
const keys: Readonly<Record<LedgerGrouping, string>> = {
  sku: 'sku',
  day: `to_char(day, 'YYYY-MM-DD')`,
  model: 'model',
  tenant: 'tenant_id',
}

/** Whole days come from the daily totals, what is left at both ends from the lines. */
function spans(fromMs: number | undefined, toMs: number | undefined) {
  const firstDayMs = fromMs === undefined ? undefined : Math.ceil(fromMs / DAY_MS) * DAY_MS
  const endDayMs = toMs === undefined ? undefined : Math.floor(toMs / DAY_MS) * DAY_MS
  // Inside a single day there is no whole one.
  if (firstDayMs !== undefined && endDayMs !== undefined && endDayMs < firstDayMs)
    return { days: undefined, edges: [{ fromMs, toMs }] }
  return {
    days: { fromMs: firstDayMs, toMs: endDayMs },
    edges: [
      ...(fromMs !== undefined && fromMs !== firstDayMs ? [{ fromMs, toMs: firstDayMs }] : []),
      ...(toMs !== undefined && toMs !== endDayMs ? [{ fromMs: endDayMs, toMs }] : []),
    ],
  }
}

type Span = Pick<LedgerFilter, 'fromMs' | 'toMs'>

function ofLines(filter: LedgerFilter, span: Span, parameters: Parameters): string {
  const conditions = lineConditions({ ...filter, ...span }, parameters)
  return `select tenant_id, (settled_at at time zone 'UTC')::date as day, currency, sku, unit,
                 model, 1 as lines, quantity, amount
          from ledger.lines where ${conjunction(conditions)}`
}

function ofDays(filter: LedgerFilter, span: Span, parameters: Parameters): string {
  const conditions = [...factConditions(filter, parameters)]
  const date = (ms: number): string =>
    `${parameters.add(new Date(ms).toISOString().slice(0, 10))}::date`
  if (span.fromMs !== undefined) conditions.push(`day >= ${date(span.fromMs)}`)
  if (span.toMs !== undefined) conditions.push(`day < ${date(span.toMs)}`)
  return `select tenant_id, day, currency, sku, unit, model, lines, quantity, amount
          from ledger.days where ${conjunction(conditions)}`
}

/** Sums of settled lines per key and currency, keys in order. */
export async function summarise(
  db: Queryable,
  filter: LedgerFilter,
  groupBy: LedgerGrouping,
): Promise<readonly LedgerGroup[]> {
  const parameters = new Parameters()
  const { days, edges } = spans(filter.fromMs, filter.toMs)
  const parts =
    filter.sourceId === undefined
      ? [
          ...(days ? [ofDays(filter, days, parameters)] : []),
          ...edges.map((span) => ofLines(filter, span, parameters)),
        ]
      : [ofLines(filter, {}, parameters)]
  const { rows } = await db.query<{
    key: string
    currency: string
    unit: string | null
    quantity: string
    amount: string
    lines: string
  }>(
    `select ${keys[groupBy]} as key, currency,
            case when min(unit) = max(unit) then min(unit) end as unit,
            sum(quantity)::text as quantity, trim_scale(sum(amount))::text as amount,
            sum(lines)::text as lines
     from (${parts.join(' union all ')}) t
     group by 1, 2 order by 1, 2`,
    parameters.values,
  )
  return rows.map(({ key, currency, unit, quantity, amount, lines }) => ({
    key,
    currency,
    unit: unit ?? undefined,
    // Quantities of different units are not one quantity.
    quantity: unit === null ? undefined : toQuantity(quantity),
    amount,
    lines: Number(lines),
  }))
}
