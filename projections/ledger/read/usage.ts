import { fromTimestamp } from '../../../src/kernel/clock.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { type Quantity, toQuantity } from '../../../src/kernel/money.ts'
import type { LedgerFilter } from './filter.ts'
import { UTC_DAY_MS } from './spans.ts'
import { columns, type UsageKey, type UsageQuery, UsageStatement } from './usage-statement.ts'

export type { NamedDay, UsageKey, UsageQuery } from './usage-statement.ts'

/** Settled lines with the same values of the requested keys, in one currency. */
export interface UsageGroup {
  readonly keys: Readonly<Partial<Record<UsageKey, string>>>
  readonly currency: string
  /** Unit of the quantity; undefined if the lines have different units. */
  readonly unit: string | undefined
  readonly quantity: Quantity | undefined
  /** Exact decimal. */
  readonly amount: string
  readonly lines: number
}

/** Usage grouped by the keys and by currency, keys in their order. */
export async function usage(db: Queryable, query: UsageQuery): Promise<readonly UsageGroup[]> {
  const statement = new UsageStatement(query)
  const facts = statement.facts().join(', ')
  const parts = statement.parts().map(({ from, day, numbers: [lines, quantity, amount] }) => {
    return `select ${day} as day, ${facts}, ${lines} as lines, ${quantity} as quantity,
                   ${amount} as amount
            from ${from}`
  })
  const keys = query.groupBy.map((key) => (key === 'day' ? 'day' : columns[key]))
  const grouped = [...keys, 'currency'].join(', ')
  const shown = query.groupBy.map((key, n) => `${keys[n]} as "key_${key}", `).join('')
  const limit = statement.parameters.add(query.limit ?? null)
  const { rows } = await db.query<Cells>(
    `select ${shown} currency,
            case when min(unit) filter (where lines <> 0) = max(unit) filter (where lines <> 0)
                 then min(unit) filter (where lines <> 0) end as unit,
            sum(quantity)::text as quantity, trim_scale(sum(amount))::text as amount,
            sum(lines)::text as lines
     from (select ${grouped}, unit, sum(lines) as lines, sum(quantity) as quantity,
                  sum(amount) as amount
           from (${parts.join(' union all ')}) p group by ${grouped}, unit) t
     group by ${grouped} having sum(lines) > 0 limit ${limit}`,
    statement.parameters.values,
  )
  // Sorted here, the few that are left: the server would sort all that they are made of.
  const order = [...query.groupBy.map((key) => `key_${key}`), 'currency']
  return rows
    .toSorted((one, other) => compare(one, other, order))
    .map(({ key_day: day, ...row }) => {
      const named = typeof day === 'number' ? { key_day: statement.nameOf(day) } : {}
      return toGroup(
        { ...(row as Readonly<Record<string, string | null>>), ...named },
        query.groupBy,
      )
    })
}

type Cells = Readonly<Record<string, string | number | null>>

function compare(one: Cells, other: Cells, order: readonly string[]): number {
  const column = order.find((name) => one[name] !== other[name])
  if (column === undefined) return 0
  return (one[column] ?? '') < (other[column] ?? '') ? -1 : 1
}

function toGroup(
  row: Readonly<Record<string, string | null>>,
  groupBy: readonly UsageKey[],
): UsageGroup {
  const unit = row['unit'] ?? undefined
  return {
    keys: Object.fromEntries(groupBy.map((key) => [key, row[`key_${key}`] ?? ''])),
    currency: row['currency'] ?? '',
    unit,
    // Quantities of different units are not one quantity.
    quantity: unit === undefined ? undefined : toQuantity(row['quantity'] ?? '0'),
    amount: row['amount'] ?? '0',
    lines: Number(row['lines'] ?? 0),
  }
}

/** The first and the last UTC day with lines of a filter's tenant, or of all; undefined without any. */
export async function usageExtent(
  db: Queryable,
  { tenantId }: Pick<LedgerFilter, 'tenantId'>,
): Promise<{ readonly fromMs: number; readonly toMs: number } | undefined> {
  const { rows } = await db.query<{ first: string | null; last: string | null }>(
    `select min(day)::text as first, max(day)::text as last from ledger.days
     where $1::text is null or tenant_id = $1`,
    [tenantId ?? null],
  )
  const [row] = rows
  if (row?.first == null || row.last == null) return undefined
  return { fromMs: fromTimestamp(row.first), toMs: fromTimestamp(row.last) + UTC_DAY_MS }
}

export type LedgerGrouping = 'sku' | 'day' | 'model' | 'tenant'

/** Settled lines of one key and currency; currencies are never added. */
export interface LedgerGroup {
  readonly key: string
  readonly currency: string
  /** Unit of the quantity; undefined if the lines have different units. */
  readonly unit: string | undefined
  readonly quantity: Quantity | undefined
  /** Exact decimal. */
  readonly amount: string
  readonly lines: number
}

/** Sums of settled lines per key and currency, keys in order; a day is of UTC. */
export async function summarise(
  db: Queryable,
  filter: LedgerFilter,
  groupBy: LedgerGrouping,
): Promise<readonly LedgerGroup[]> {
  const groups = await usage(db, { filter, groupBy: [groupBy] })
  return groups.map(({ keys, ...group }) => ({ key: keys[groupBy] ?? '', ...group }))
}
