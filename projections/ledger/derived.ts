import type { Queryable } from '../engine/queryable.ts'

/** A row that does not follow from the rows it is derived from. */
export interface Inconsistency {
  readonly table: 'days' | 'settlements' | 'balances' | 'adjustments'
  readonly key: string
}

/** Daily totals against the lines of the day. */
const days = `
  select 'days' as "table", concat_ws(' ', tenant_id, day, currency, sku, model, user_id) as key
  from ledger.days d
  full join (
    select tenant_id, (settled_at at time zone 'UTC')::date as day, currency, sku, unit, model,
           user_id, count(*) as lines, sum(quantity) as quantity, sum(amount) as amount
    from ledger.lines group by 1, 2, 3, 4, 5, 6, 7
  ) l using (tenant_id, day, currency, sku, unit, model, user_id)
  where (d.lines, d.quantity, d.amount) is distinct from (l.lines, l.quantity, l.amount)`

/** Settled results against their lines; a result may have none. */
const settlements = `
  select 'settlements' as "table", source_id as key
  from ledger.settlements s
  full join (
    select source_id, count(*) as lines, sum(amount) as amount from ledger.lines group by 1
  ) l using (source_id)
  where s.source_id is null or s.lines <> coalesce(l.lines, 0) or s.amount <> coalesce(l.amount, 0)`

/** Balances against the entries behind them, and what is held against the placed holds. */
const balances = `
  select 'balances' as "table", tenant_id || ' ' || currency as key
  from ledger.balances b
  full join (
    select tenant_id, currency,
      coalesce(sum(amount) filter (where kind = 'settled'), 0) as settled,
      coalesce(sum(amount) filter (where kind = 'granted'), 0) as granted,
      coalesce(sum(case when debit = 'adjustment' then amount else -amount end)
               filter (where kind = 'adjusted'), 0) as adjusted,
      coalesce(sum(case kind when 'hold_placed' then amount when 'hold_captured' then -amount
                             when 'hold_released' then -amount end), 0) as held
    from ledger.entries group by 1, 2
  ) e using (tenant_id, currency)
  full join (
    select tenant_id, currency, sum(amount) as placed from ledger.holds
    where state = 'placed' group by 1, 2
  ) h using (tenant_id, currency)
  where (coalesce(b.settled, 0), coalesce(b.granted, 0), coalesce(b.adjusted, 0), coalesce(b.held, 0))
        <> (coalesce(e.settled, 0), coalesce(e.granted, 0), coalesce(e.adjusted, 0), coalesce(e.held, 0))
     or coalesce(b.held, 0) <> coalesce(h.placed, 0)`

/** Adjustments against the entries behind them. */
const adjustments = `
  select 'adjustments' as "table", coalesce(a.adjustment_id, e.source_id) as key
  from ledger.adjustments a
  full join (
    select position, source_id, tenant_id, currency,
           case when debit = 'adjustment' then amount else -amount end as amount
    from ledger.entries where kind = 'adjusted'
  ) e using (position)
  where (a.adjustment_id, a.tenant_id, a.currency, a.amount)
        is distinct from (e.source_id, e.tenant_id, e.currency, e.amount)`

/** Where the ledger's own tables disagree with each other, at most `limit` of each kind. */
export async function inconsistencies(
  db: Queryable,
  limit: number,
): Promise<readonly Inconsistency[]> {
  const found: Inconsistency[] = []
  for (const sql of [days, settlements, balances, adjustments]) {
    const { rows } = await db.query<Inconsistency>(`${sql} limit $1`, [limit])
    found.push(...rows)
  }
  return found
}
