import type { Queryable } from '../../engine/queryable.ts'
import type { DayKey } from '../fold/change.ts'

/** How many lines, what quantity and what amount; decimal strings, zero where there is no row. */
export interface DayTotals {
  readonly lines: string
  readonly quantity: string
  readonly amount: string
}

/** A daily total as the lines of the day sum to it and as it stands. */
export interface DayComparison {
  readonly key: DayKey
  readonly summed: DayTotals
  readonly stands: DayTotals
}

/** Days of a tenant from the first up to the last, which is left out; undefined is without an end. */
export interface DayRange {
  readonly tenantId: string
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The next days of a tenant with what they say is their number of lines: to plan ranges by. */
export async function linesPerDay(
  db: Queryable,
  range: Pick<DayRange, 'tenantId' | 'from'> & { readonly limit: number },
): Promise<readonly { readonly day: string; readonly lines: number }[]> {
  const { rows } = await db.query<{ day: string; lines: string }>(
    `select to_char(day, 'YYYY-MM-DD') as day, sum(lines)::text as lines from ledger.days
     where tenant_id = $1 and day >= coalesce($2::date, '-infinity')
     group by 1 order by 1 limit $3`,
    [range.tenantId, range.from ?? null, range.limit],
  )
  return rows.map(({ day, lines }) => ({ day, lines: Number(lines) }))
}

/** Daily totals against the lines of the day: those that differ, or every one of the range. */
export async function compareDays(
  db: Queryable,
  range: DayRange & { readonly all: boolean; readonly limit: number },
): Promise<readonly DayComparison[]> {
  const { rows } = await db.query<DayKey & Readonly<Record<string, string>>>(
    `with summed as (
       select tenant_id, (settled_at at time zone 'UTC')::date as day, currency, sku, unit, model,
              user_id, count(*) as lines, sum(quantity) as quantity, sum(amount) as amount
       from ledger.lines
       where tenant_id = $1
         and settled_at >= coalesce($2::date::timestamp at time zone 'UTC', '-infinity')
         and settled_at < coalesce($3::date::timestamp at time zone 'UTC', 'infinity')
       group by 1, 2, 3, 4, 5, 6, 7),
     standing as (
       select tenant_id, day, currency, sku, unit, model, user_id, lines, quantity, amount
       from ledger.days
       where tenant_id = $1 and day >= coalesce($2::date, '-infinity')
         and day < coalesce($3::date, 'infinity'))
     select tenant_id as "tenantId", to_char(day, 'YYYY-MM-DD') as day, currency, sku, unit, model,
            user_id as "userId",
            coalesce(l.lines, 0)::text as summed_lines,
            coalesce(l.quantity, 0)::text as summed_quantity,
            trim_scale(coalesce(l.amount, 0))::text as summed_amount,
            coalesce(d.lines, 0)::text as lines,
            coalesce(d.quantity, 0)::text as quantity,
            trim_scale(coalesce(d.amount, 0))::text as amount
     from standing d
     full join summed l using (tenant_id, day, currency, sku, unit, model, user_id)
     where $4 or (d.lines, d.quantity, d.amount) is distinct from (l.lines, l.quantity, l.amount)
     order by 2, 3, 4, 5, 6, 7 limit $5`,
    [range.tenantId, range.from ?? null, range.to ?? null, range.all, range.limit],
  )
  return rows.map((row) => ({
    key: {
      tenantId: row.tenantId,
      day: row.day,
      currency: row.currency,
      sku: row.sku,
      unit: row.unit,
      model: row.model,
      userId: row.userId,
    },
    summed: {
      lines: row['summed_lines'] ?? '0',
      quantity: row['summed_quantity'] ?? '0',
      amount: row['summed_amount'] ?? '0',
    },
    stands: {
      lines: row['lines'] ?? '0',
      quantity: row['quantity'] ?? '0',
      amount: row['amount'] ?? '0',
    },
  }))
}
