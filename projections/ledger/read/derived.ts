import type { Queryable } from '../../engine/queryable.ts'

/** Key of a total of a period. */
export interface PeriodKey {
  readonly tenantId: string
  /**
   * Start of the period, in UTC: a day as `YYYY-MM-DD`, an hour or a quarter as `YYYY-MM-DDTHH:MM`.
   */
  readonly begins: string
  readonly currency: string
  readonly sku: string
  readonly unit: string
  readonly model: string
  readonly userId: string
  readonly tokenId: string
  readonly surface: string
}

/** Number of requests and of lines, quantity and amount; decimal strings, zero if there is no row. */
export interface PeriodTotals {
  readonly requests: string
  readonly lines: string
  readonly quantity: string
  readonly amount: string
}

/** The totals by time that are kept: of UTC days, of hours, and of quarters of an hour. */
export type PeriodTable = 'days' | 'hours' | 'quarters'

const periods = {
  days: {
    column: 'day',
    ofLine: `(settled_at at time zone 'UTC')::date`,
    from: (day: string) => `${day}::date`,
    shown: `to_char(day, 'YYYY-MM-DD')`,
  },
  hours: {
    column: 'hour',
    ofLine: `date_bin('1 hour', settled_at, timestamptz '2000-01-01T00:00Z')`,
    from: (day: string) => `${day}::date::timestamp at time zone 'UTC'`,
    shown: `to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI')`,
  },
  quarters: {
    column: 'quarter',
    ofLine: `date_bin('15 minutes', settled_at, timestamptz '2000-01-01T00:00Z')`,
    from: (day: string) => `${day}::date::timestamp at time zone 'UTC'`,
    shown: `to_char(quarter at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI')`,
  },
} as const

/** A total as summed from its lines, and as stored. */
export interface PeriodComparison {
  readonly key: PeriodKey
  readonly summed: PeriodTotals
  readonly stands: PeriodTotals
}

/** Days of a tenant from the first up to the last, which is left out; undefined is without an end. */
export interface DayRange {
  readonly tenantId: string
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The next days of a tenant with their numbers of lines, but for the newest ones: to plan ranges by. */
export async function linesPerDay(
  db: Queryable,
  range: Pick<DayRange, 'tenantId' | 'from'> & { readonly limit: number },
): Promise<readonly { readonly day: string; readonly lines: number }[]> {
  const { rows } = await db.query<{ day: string; lines: string }>(
    `select to_char(day, 'YYYY-MM-DD') as day, sum(lines)::text as lines from ledger.summed_days
     where tenant_id = $1 and day >= coalesce($2::date, '-infinity')
     group by 1 order by 1 limit $3`,
    [range.tenantId, range.from ?? null, range.limit],
  )
  return rows.map(({ day, lines }) => ({ day, lines: Number(lines) }))
}

/** The end of the lines that the totals by time have. */
export interface SummedLines {
  /** Number of the last one in the chain. */
  readonly seq: bigint
  /** Position of the first line after it; undefined without any. */
  readonly next: bigint | undefined
}

/** Finds out which lines the totals by time have. */
export async function summedLines(db: Queryable): Promise<SummedLines> {
  const { rows } = await db.query<{ seq: string; next: string | null }>(
    `select c.summed as seq, (select l.position from ledger.lines l
                             where l.seq > c.summed and l.seq <= c.seq order by l.seq limit 1) as next
     from ledger.chain c`,
  )
  const [row] = rows
  return { seq: BigInt(row?.seq ?? 0), next: row?.next == null ? undefined : BigInt(row.next) }
}

/**
 * Totals by time against the lines of that time that they have: those that differ, or every one of the range.
 */
export async function comparePeriods(
  db: Queryable,
  table: PeriodTable,
  range: DayRange & { readonly all: boolean; readonly limit: number },
): Promise<readonly PeriodComparison[]> {
  const { column, ofLine, from, shown } = periods[table]
  const key = `tenant_id, ${column}, currency, sku, unit, model, user_id, token_id, surface`
  const { rows } = await db.query<PeriodKey & Readonly<Record<string, string>>>(
    `with summed as (
       select tenant_id, ${ofLine} as ${column}, currency, sku, unit, model, user_id, token_id,
              surface, count(*) filter (where line_id like '%:1') as requests, count(*) as lines,
              sum(quantity) as quantity, sum(amount) as amount
       from ledger.lines
       where tenant_id = $1 and seq <= (select summed from ledger.chain)
         and settled_at >= coalesce($2::date::timestamp at time zone 'UTC', '-infinity')
         and settled_at < coalesce($3::date::timestamp at time zone 'UTC', 'infinity')
       group by 1, 2, 3, 4, 5, 6, 7, 8, 9),
     stored_totals as (
       select ${key}, requests, lines, quantity, amount
       from ledger.summed_${table}
       where tenant_id = $1 and ${column} >= coalesce(${from('$2')}, '-infinity')
         and ${column} < coalesce(${from('$3')}, 'infinity'))
     select tenant_id as "tenantId", ${shown} as begins, currency, sku, unit, model,
            user_id as "userId", token_id as "tokenId", surface,
            coalesce(l.requests, 0)::text as summed_requests,
            coalesce(l.lines, 0)::text as summed_lines,
            coalesce(l.quantity, 0)::text as summed_quantity,
            trim_scale(coalesce(l.amount, 0))::text as summed_amount,
            coalesce(d.requests, 0)::text as requests,
            coalesce(d.lines, 0)::text as lines,
            coalesce(d.quantity, 0)::text as quantity,
            trim_scale(coalesce(d.amount, 0))::text as amount
     from stored_totals d
     full join summed l using (${key})
     where $4 or (d.requests, d.lines, d.quantity, d.amount)
       is distinct from (l.requests, l.lines, l.quantity, l.amount)
     order by 2, 3, 4, 5, 6, 7, 8, 9 limit $5`,
    [range.tenantId, range.from ?? null, range.to ?? null, range.all, range.limit],
  )
  return rows.map((row) => ({
    key: {
      tenantId: row.tenantId,
      begins: row.begins,
      currency: row.currency,
      sku: row.sku,
      unit: row.unit,
      model: row.model,
      userId: row.userId,
      tokenId: row.tokenId,
      surface: row.surface,
    },
    summed: totalsOf(row, 'summed_'),
    stands: totalsOf(row, ''),
  }))
}

function totalsOf(row: Readonly<Record<string, string>>, prefix: '' | 'summed_'): PeriodTotals {
  const of = (name: keyof PeriodTotals): string => row[`${prefix}${name}`] ?? '0'
  return {
    requests: of('requests'),
    lines: of('lines'),
    quantity: of('quantity'),
    amount: of('amount'),
  }
}
