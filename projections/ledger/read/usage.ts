import { invariant } from '../../../src/kernel/assert.ts'
import { fromTimestamp } from '../../../src/kernel/clock.ts'
import { inTurns, mapped, sorted, type Work } from '../../../src/kernel/turns.ts'
import type { Queryable } from '../../engine/queryable.ts'
import type { LedgerFilter } from './filter.ts'
import { unsummedSql } from '../sums.ts'
import { UTC_DAY_MS } from './spans.ts'
import {
  columnOf,
  figures,
  type UsageKey,
  type UsageQuery,
  UsageStatement,
} from './usage-statement.ts'

export { timeKeys, type UsageKey, type UsageQuery } from './usage-statement.ts'

/** Settled lines with the same values of the requested keys, in one currency. */
export interface UsageGroup {
  /** A tag that the lines do not have is absent. */
  readonly keys: Readonly<Partial<Record<UsageKey, string>>>
  readonly currency: string
  /** Unit of the quantity; undefined if the lines have different units. */
  readonly unit: string | undefined
  /** A sum, so decimal text: no number need hold it. */
  readonly quantity: string | undefined
  /** Exact decimal: what was charged. */
  readonly amount: string
  /** Exact decimal: the refunds of this time, of these or of earlier lines. */
  readonly refunded: string
  /** Exact decimal: the amount less the refunds. */
  readonly net: string
  /** Lines that are the first of their result: by SKU and in parts of results no number of requests. */
  readonly requests: number
  readonly lines: number
}

/** Usage grouped by the keys and by currency, keys in their order. */
export async function usage(db: Queryable, query: UsageQuery): Promise<readonly UsageGroup[]> {
  const { filter, periods } = query
  // Days of UTC would otherwise be counted whole into the periods that hold their noon.
  invariant(
    periods === undefined || (filter.fromMs !== undefined && filter.toMs !== undefined),
    'periods cover a range that has both ends',
  )
  const statement = new UsageStatement(query)
  const parts = (await inTurns(statement.parts())).map((part) => statement.select(part))
  const keys = query.groupBy.map(columnOf)
  const grouped = [...keys, 'currency'].join(', ')
  const values = query.groupBy.map((key, n) => `${statement.valueOf(key, n)} as key_${n}`)
  const shown = query.groupBy.map((_, n) => `key_${n}`)
  const ordered = [...shown, 'currency'].join(', ')
  const sums = figures.map((name) => `sum(${name}) as ${name}`).join(', ')
  const limit = statement.parameters.add(query.limit ?? null)
  const { rows } = await db.query<Cells>(
    `select ${ordered},
            case when min(unit) filter (where lines <> 0) = max(unit) filter (where lines <> 0)
                 then min(unit) filter (where lines <> 0) end as unit,
            sum(quantity)::text as quantity, trim_scale(sum(amount))::text as amount,
            trim_scale(sum(refunded))::text as refunded,
            trim_scale(sum(amount) - sum(refunded))::text as net,
            sum(requests)::text as requests, sum(lines)::text as lines
     from (select ${[...values, 'currency', 'unit', ...figures].join(', ')}
           from (select ${grouped}, unit, ${sums}
                 from (${parts.join(' union all ')}) p group by ${grouped}, unit) g) t
     group by ${ordered} having sum(lines) > 0 or sum(refunded) <> 0 limit ${limit}`,
    statement.parameters.values,
  )
  return inTurns(groupsOf(rows, query.groupBy, (period) => statement.nameOf(period)))
}

/** The rows as groups. They are sorted here, the few that are left: the server would sort all that they are made of. */
function* groupsOf(
  rows: readonly Cells[],
  groupBy: readonly UsageKey[],
  nameOf: (period: number) => string,
): Work<readonly UsageGroup[]> {
  const order = [...groupBy.map((_, n) => `key_${n}`), 'currency']
  const named = (cell: Cells[string]): string | undefined =>
    typeof cell === 'number' ? nameOf(cell) : (cell ?? undefined)
  const ordered = yield* sorted(rows, (one, other) => compare(one, other, order))
  return yield* mapped(ordered, (row) => ({
    keys: Object.fromEntries(groupBy.map((key, n) => [key, named(row[`key_${n}`] ?? null)])),
    ...toSums(row as Readonly<Record<string, string | null>>),
  }))
}

type Cells = Readonly<Record<string, string | number | null>>

function compare(one: Cells, other: Cells, order: readonly string[]): number {
  const column = order.find((name) => one[name] !== other[name])
  if (column === undefined) return 0
  return (one[column] ?? '') < (other[column] ?? '') ? -1 : 1
}

function toSums(row: Readonly<Record<string, string | null>>): Omit<UsageGroup, 'keys'> {
  const unit = row['unit'] ?? undefined
  return {
    currency: row['currency'] ?? '',
    unit,
    // Quantities of different units are not one quantity.
    quantity: unit === undefined ? undefined : (row['quantity'] ?? '0'),
    amount: row['amount'] ?? '0',
    refunded: row['refunded'] ?? '0',
    net: row['net'] ?? '0',
    requests: Number(row['requests'] ?? 0),
    lines: Number(row['lines'] ?? 0),
  }
}

/** The first and the last UTC day with lines or refunds of a filter's tenant, or of all; undefined without any. */
export async function usageExtent(
  db: Queryable,
  { tenantId }: Pick<LedgerFilter, 'tenantId'>,
): Promise<{ readonly fromMs: number; readonly toMs: number } | undefined> {
  const { rows } = await db.query<{ first: string | null; last: string | null }>(
    `select min(first)::text as first, max(last)::text as last from (
       select min(day) as first, max(day) as last from ledger.summed_days
       where $1::text is null or tenant_id = $1
       union all
       select (min(settled_at) at time zone 'UTC')::date, (max(settled_at) at time zone 'UTC')::date
       from (${unsummedSql(tenantId === undefined ? undefined : '$1')}) l where $1::text is null or tenant_id = $1
       union all
       select (min(posted_at) at time zone 'UTC')::date, (max(posted_at) at time zone 'UTC')::date
       from ledger.adjustments where line_id is not null and ($1::text is null or tenant_id = $1)) e`,
    [tenantId ?? null],
  )
  const [row] = rows
  if (row?.first == null || row.last == null) return undefined
  return { fromMs: fromTimestamp(row.first), toMs: fromTimestamp(row.last) + UTC_DAY_MS }
}
